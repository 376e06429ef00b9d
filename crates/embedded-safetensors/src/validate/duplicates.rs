//! Duplicate names, found exactly and in bounded memory.
//!
//! A pass over the header collects the hashes of as many names as there are slots, in ascending order. Names
//! with equal hashes are candidates: further passes compare the two names themselves, piece by piece, as much
//! as fits into the text buffer at a time. Hashes that did not fit are left to the next pass.

use crate::error::table::Fault;
use crate::error::{Error, ErrorKind};
use crate::header::progress::{Machine, Progress};
use crate::header::{HeaderParser, Signal, Signals, Text};
use crate::util::bytes::{get, get_mut, index_below, low_u32};
use crate::util::siphash::NameHash;
use crate::util::top_k::{Smallest, SortSlot};

/// Finds duplicate tensor names in a header, and duplicate keys in its `__metadata__`.
///
/// Run it after [`Validator`](crate::validate::Validator), over the same bytes. It takes one pass for every
/// `slots.len() - 1` names and, for a pair of names with equal hashes, one for every `text.len()` bytes of
/// its name.
///
/// A hostile file can have two equal names of half a header each. With 64 bytes of text, that takes 800
/// passes for 100 KiB, and 16,000 for 2 MiB. With a 64th of the longest header that you accept, it takes at
/// most 32.
///
/// *Memory*: at most 344 bytes, the slots and the text. No heap.
pub struct DuplicateFinder<'s> {
    parser: HeaderParser,
    /// Whether the header is validated, so that entries are skimmed.
    skims: bool,
    key: [u64; 2],
    name: NameHash,
    names: Smallest<'s>,
    text: &'s mut [u8],
    stage: Stage,
    pair: Pair,
    /// The first of the names that repeat an earlier one.
    found: Option<SortSlot>,
    /// A header that does not change needs no more rounds than it has names.
    rounds_left: u64,
}

/// The entire hash. In the unit tests so few bits that names collide all the time: only then are different
/// names compared.
const HASH_MASK: u64 = if cfg!(test) { 3 } else { u64::MAX };

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    FirstPass,
    Collecting,
    Comparing,
    Distinct,
}

/// Two names with the same hash and length, and how far they have been compared.
#[derive(Clone, Copy)]
struct Pair {
    first: usize,
    second: usize,
    /// The part that is compared in this pass begins at this byte of the names.
    from: u64,
    /// Both must be seen in every pass.
    seen_first: bool,
    seen_second: bool,
    differ: bool,
}

impl Pair {
    const fn new(first: usize, second: usize) -> Self {
        Self { first, second, from: 0, seen_first: false, seen_second: false, differ: false }
    }
}

impl<'s> DuplicateFinder<'s> {
    /// Creates a finder for a new file. It needs at least two slots and one byte of text.
    ///
    /// `key` is the key of the hash. The verdict does not depend on it, but the number of passes does. If
    /// files may be hostile, choose a random one; otherwise any constant.
    pub const fn new(key: [u64; 2], slots: &'s mut [SortSlot], text: &'s mut [u8]) -> Self {
        Self {
            parser: HeaderParser::new(),
            skims: false,
            key,
            name: NameHash::new(key),
            names: Smallest::new(slots),
            text,
            stage: Stage::FirstPass,
            pair: Pair::new(0, 1),
            found: None,
            rounds_left: 0,
        }
    }

    /// Returns the same finder, for a validated header: only its names are examined.
    pub(crate) const fn of_proven(mut self) -> Self {
        self.skims = true;
        self
    }

    /// Returns how many bytes of the file have been consumed in this pass.
    pub const fn position(&self) -> u64 {
        self.parser.position()
    }

    /// Reads `input`, and moves it past the bytes consumed.
    ///
    /// # Errors
    /// [`ErrorKind::DuplicateName`] or [`ErrorKind::DuplicateKey`] at the first name of the file that
    /// repeats an earlier one; [`ErrorKind::SlotCount`] or [`ErrorKind::NoText`] when the memory is too
    /// small; [`ErrorKind::Changed`] when the header is not the same in every pass; errors of the header.
    /// Every further call returns the same error.
    pub const fn push(&mut self, input: &mut &[u8]) -> Result<Progress, Error> {
        match self.run(input) {
            Some(progress) => Ok(progress),
            None => Err(self.error()),
        }
    }

    /// Returns `None` on an error.
    const fn run(&mut self, input: &mut &[u8]) -> Option<Progress> {
        const SELECTED: Signals =
            Signals::of(&[Signal::Name, Signal::Tensor, Signal::Metadata, Signal::Key, Signal::KeyEnd]);
        let mut run: &[u8] = &[];
        loop {
            let signal = self.parser.advance::<false>(input, &mut run, SELECTED);
            if matches!(signal, Signal::Name | Signal::Tensor | Signal::Key | Signal::KeyEnd) {
                self.take_piece(&self.parser.piece(signal, run));
            }
            match signal {
                Signal::NeedInput => return Some(Progress::NeedInput),
                Signal::HeaderEnd => return self.end_pass(),
                Signal::Failed => return None,
                Signal::Tensor => {
                    self.end_name(false);
                    if self.skims {
                        self.parser.skim_entry();
                    }
                }
                Signal::KeyEnd => self.end_name(true),
                Signal::Metadata => self.forget_name(),
                _ => {}
            }
        }
    }

    /// Ends the input: the file has no more bytes. Returns `Ok` if the header is complete.
    ///
    /// # Errors
    /// [`ErrorKind::FileTooShort`] or [`ErrorKind::HeaderBeyondFile`]; [`ErrorKind::Changed`] when the
    /// file was longer in an earlier pass; an earlier error is repeated.
    pub const fn end_of_input(&mut self) -> Result<(), Error> {
        match self.parser.end_pass(matches!(self.stage, Stage::FirstPass)) {
            Signal::Failed => Err(self.error()),
            _ => Ok(()),
        }
    }

    const fn forget_name(&mut self) {
        self.name = NameHash::new(self.key);
    }

    const fn take_piece(&mut self, piece: &Text<'_>) {
        if let Stage::Comparing = self.stage {
            self.compare(piece.as_bytes());
        }
        self.name.push(piece.as_bytes());
    }

    /// Keeps or compares the part of a name that this pass compares.
    const fn compare(&mut self, piece: &[u8]) {
        let at = self.parser.event_start();
        let is_first = is_at(self.names.get(self.pair.first), at);
        let is_second = is_at(self.names.get(self.pair.second), at);
        self.pair.seen_first |= is_first;
        self.pair.seen_second |= is_second;
        if !is_first && !is_second {
            return;
        }
        let mut position = self.name.len();
        let mut left = piece;
        while let Some((&byte, rest)) = left.split_first() {
            self.compare_byte(position, byte, is_first);
            position += 1;
            left = rest;
        }
    }

    const fn compare_byte(&mut self, position: u64, byte: u8, is_first: bool) {
        let Some(index) = position.checked_sub(self.pair.from) else { return };
        let Some(index) = index_below(index, self.text.len()) else { return };
        if !is_first {
            self.pair.differ |= !matches!(get(self.text, index), Some(kept) if kept == byte);
        } else if let Some(kept) = get_mut(self.text, index) {
            *kept = byte;
        }
    }

    const fn end_name(&mut self, is_key: bool) {
        let at = self.parser.event_start();
        let tie = (self.name.len() << 1) | is_key as u64;
        let name = SortSlot { key: self.name.finish() & HASH_MASK, tie, at };
        match self.stage {
            Stage::FirstPass => {
                self.rounds_left += 1;
                self.names.offer(&name);
            }
            Stage::Collecting => self.names.offer(&name),
            Stage::Comparing | Stage::Distinct => {}
        }
        self.forget_name();
    }

    /// Returns `None` on an error.
    #[inline(never)]
    const fn end_pass(&mut self) -> Option<Progress> {
        let next = match self.stage {
            Stage::FirstPass | Stage::Collecting => {
                self.names.sort();
                self.pair = Pair::new(0, 1);
                self.next_candidate()
            }
            Stage::Comparing => self.end_comparison(),
            Stage::Distinct => Some(Stage::Distinct),
        };
        let Some(stage) = next else { return None };
        self.stage = stage;
        if let Stage::Distinct = stage {
            return Some(Progress::Done);
        }
        self.parser = HeaderParser::new();
        Some(Progress::Rewind)
    }

    const fn stop(&mut self, fault: Fault, at: u64) -> Option<Stage> {
        self.parser.stop(fault, low_u32(at));
        None
    }

    const fn error(&self) -> Error {
        match self.parser.fault() {
            Fault::OTHER => {
                let capacity = self.names.capacity() as u64;
                ErrorKind::SlotCount { capacity }.at(self.parser.position())
            }
            _ => self.parser.error(),
        }
    }

    /// Continues from the current pair to the next one with equal hash, length and kind whose second name is
    /// before the duplicate that is known already.
    const fn next_candidate(&mut self) -> Option<Stage> {
        while let Some(first) = self.names.get(self.pair.first) {
            match self.names.get(self.pair.second) {
                Some(second) if first.is_alike(&second) && self.is_before_found(second) => {
                    if first.tie >> 1 != 0 {
                        return self.begin_comparison(second);
                    }
                    self.keep_found(second);
                }
                _ => self.pair = Pair::new(self.pair.first + 1, self.pair.first + 2),
            }
        }
        self.next_round()
    }

    const fn is_before_found(&self, second: SortSlot) -> bool {
        match self.found {
            Some(found) => second.at < found.at,
            None => true,
        }
    }

    const fn begin_comparison(&mut self, second: SortSlot) -> Option<Stage> {
        if self.text.is_empty() { self.stop(Fault::NoText, second.at) } else { Some(Stage::Comparing) }
    }

    const fn keep_found(&mut self, second: SortSlot) {
        self.found = Some(second);
        self.pair = Pair::new(self.pair.first + 1, self.pair.first + 2);
    }

    const fn end_comparison(&mut self) -> Option<Stage> {
        let Pair { first, second, from, seen_first, seen_second, differ } = self.pair;
        let Some(name) = self.names.get(second) else { return self.fail_changed() };
        if !seen_first || !seen_second {
            return self.fail_changed();
        }
        if differ {
            self.pair = Pair::new(first, second + 1);
            return self.next_candidate();
        }
        let from = from + self.text.len() as u64;
        if from < name.tie >> 1 {
            self.pair = Pair { from, ..Pair::new(first, second) };
            return Some(Stage::Comparing);
        }
        self.keep_found(name);
        self.next_candidate()
    }

    /// Starts the round of the names that did not fit, together with those that are like the last one that
    /// did: a pair must not be split between two rounds.
    const fn next_round(&mut self) -> Option<Stage> {
        if !self.names.overflowed() {
            return if self.stop_at_found() { None } else { Some(Stage::Distinct) };
        }
        if self.rounds_left == 0 {
            return self.fail_changed();
        }
        self.rounds_left -= 1;
        let resume = self.resume_at();
        match self.names.get(resume) {
            Some(floor) if resume > 0 => {
                self.names.restart(floor);
                Some(Stage::Collecting)
            }
            _ if self.stop_at_found() => None,
            _ => self.stop(Fault::OTHER, 0),
        }
    }

    /// Returns the index of the first name of the next round.
    const fn resume_at(&self) -> usize {
        let last = self.names.len().wrapping_sub(1);
        match (self.last_group(), self.names.get(last), self.found) {
            // All slots hold names that are alike. More of them could follow, but only after a duplicate that
            // is known.
            (0, Some(name), Some(found)) if found.at <= name.at => last,
            (group, ..) => group,
        }
    }

    /// Returns the index of the first name that is like the last one.
    const fn last_group(&self) -> usize {
        let mut index = self.names.len();
        let last = self.names.get(index.wrapping_sub(1));
        while let (Some(last), Some(before)) = (last, self.names.get(index.wrapping_sub(1))) {
            if !last.is_alike(&before) {
                break;
            }
            index -= 1;
        }
        index
    }

    /// Stops with the duplicate, if one was found. It takes precedence over all other errors.
    const fn stop_at_found(&mut self) -> bool {
        let Some(found) = self.found else { return false };
        let fault = if found.tie & 1 == 1 { Fault::DuplicateKey } else { Fault::DuplicateName };
        self.stop(fault, found.at);
        true
    }

    const fn fail_changed(&mut self) -> Option<Stage> {
        self.stop(Fault::Changed, self.parser.position())
    }
}

impl Machine for DuplicateFinder<'_> {
    fn push(&mut self, input: &mut &[u8]) -> Option<Progress> {
        self.run(input)
    }

    fn parser(&mut self) -> &mut HeaderParser {
        &mut self.parser
    }

    fn failure(&mut self) -> Error {
        DuplicateFinder::error(self)
    }
}

const fn is_at(slot: Option<SortSlot>, at: u64) -> bool {
    matches!(slot, Some(slot) if slot.at == at)
}

shown!(DuplicateFinder<'_>, it => "DuplicateFinder {{ at: {:?}, .. }}", it.position());

#[cfg(test)]
mod tests {
    extern crate std;
    use crate::error::{Error, ErrorKind};
    use crate::util::top_k::SortSlot;
    use crate::validate::validate;
    use std::{format, string::String, vec, vec::Vec};

    /// Returns a header with these names, and the offset of each.
    fn header_of(names: &[String]) -> (Vec<u8>, Vec<u64>) {
        let mut header = String::from("{");
        let mut offsets = vec![];
        for (i, name) in names.iter().enumerate() {
            header += if i > 0 { "," } else { "" };
            offsets.push(8 + header.len() as u64);
            header += &format!(r#""{name}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#);
        }
        header += "}";
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.as_bytes());
        (file, offsets)
    }

    fn verdict(file: &[u8], slots: usize, text: usize) -> Result<(), Error> {
        validate(file, &mut vec![SortSlot::EMPTY; slots], &mut vec![0; text]).map(|_| ())
    }

    /// 40 names of one length that share four hashes.
    fn names() -> Vec<String> {
        (10..50).map(|i| format!("layer.{i}.weight")).collect()
    }

    #[test]
    fn names_with_equal_hash_are_distinct() {
        let (file, _) = header_of(&names());
        for (slots, text) in [(40, 1), (41, 100), (25, 3), (20, 7), (64, 15), (64, 16)] {
            assert_eq!(verdict(&file, slots, text), Ok(()), "{slots} slots, {text} bytes");
        }
    }

    #[test]
    fn names_that_differ_in_one_byte_are_distinct() {
        for (at, text) in (0..7).flat_map(|at| [1, 2, 3, 7, 8].map(|text| (at, text))) {
            let name = |letter| format!("{}{letter}{}", &"weights"[..at], &"weights"[at + 1..]);
            let (file, _) = header_of(&('A'..='Z').map(name).collect::<Vec<_>>());
            assert_eq!(verdict(&file, 26, text), Ok(()), "byte {at}, {text} bytes of text");
        }
        let (file, _) = header_of(&('A'..='Z').map(String::from).collect::<Vec<_>>());
        assert_eq!(verdict(&file, 26, 1), Ok(()));
    }

    #[test]
    fn duplicate_is_found_among_hash_collisions() {
        for (first, second) in [(0, 1), (0, 39), (17, 23), (38, 39)] {
            let mut all = names();
            all[second] = all[first].clone();
            let (file, offsets) = header_of(&all);
            for (slots, text) in [(40, 1), (22, 5), (64, 100)] {
                assert_eq!(verdict(&file, slots, text), Err(ErrorKind::DuplicateName.at(offsets[second])));
            }
        }
    }

    #[test]
    fn first_duplicate_in_file_is_reported() {
        let mut all = names();
        all.extend(names().into_iter().rev());
        let (file, offsets) = header_of(&all);
        for (slots, text) in [(80, 1), (44, 5), (200, 100)] {
            assert_eq!(verdict(&file, slots, text), Err(ErrorKind::DuplicateName.at(offsets[40])));
        }
    }

    #[test]
    fn too_few_slots_for_one_hash_is_a_limit() {
        let (file, _) = header_of(&names());
        let error = verdict(&file, 3, 100).expect_err("ten names share a hash");
        assert_eq!(error.kind, ErrorKind::SlotCount { capacity: 3 });
        assert_eq!(verdict(&file, 0, 100).map_err(|e| e.kind), Err(ErrorKind::SlotCount { capacity: 0 }));
    }

    #[test]
    fn equal_hashes_without_text_memory_are_an_error() {
        let (file, _) = header_of(&names());
        let kind = verdict(&file, 64, 0).map_err(|error| error.kind);
        assert_eq!(kind, Err(ErrorKind::NoText));
    }

    #[test]
    fn duplicate_empty_text_needs_no_memory() {
        let (file, offsets) = header_of(&[String::new(), "a".into(), String::new()]);
        assert_eq!(verdict(&file, 4, 0), Err(ErrorKind::DuplicateName.at(offsets[2])));
        let keys = b"\x20\0\0\0\0\0\0\0{\"__metadata__\":{\"\":\"1\",\"\":\"2\"}}";
        assert_eq!(verdict(keys, 4, 0), Err(ErrorKind::DuplicateKey.at(32)));
    }
}
