//! Names that occur twice, found exactly and in bounded memory.
//!
//! A pass over the header collects the hashes of as many names as there are slots, in ascending
//! order. Two equal hashes are a suspicion; further passes compare the two names themselves, piece
//! by piece, as much as fits into the text memory at a time. Hashes that did not fit are the next
//! pass's.

use crate::bytes::{get, get_mut, index_below};
use crate::error::{Error, ErrorKind};
use crate::hash::NameHash;
use crate::header::{Event, HeaderParser, Text};
use crate::progress::Progress;
use crate::smallest::{Slot, Smallest};

/// Proves that no tensor name occurs twice in a header, and no key in its `__metadata__`.
///
/// Run it after [`HeaderCheck`](crate::HeaderCheck), over the same bytes. It takes one pass for
/// every `slots.len() - 1` names and, for a pair under suspicion, one for every `text.len()` bytes
/// of its name. A key chosen by chance keeps a hostile file from causing many suspicions; with a
/// constant key the verdict is the same.
///
/// *Memory*: at most 320 bytes, the slots and the text. No heap.
pub struct DuplicateCheck<'s> {
    parser: HeaderParser,
    key: [u64; 2],
    name: NameHash,
    names: Smallest<'s>,
    text: &'s mut [u8],
    stage: Stage,
    pair: Pair,
}

/// All of the hash; in the unit tests so little of it that names collide all the time, because that
/// is the only way to see different names under suspicion.
const HASH_MASK: u64 = if cfg!(test) { 3 } else { u64::MAX };

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Collecting,
    Comparing,
    Distinct,
}

/// Two names with the same hash and length, and how far they have been compared.
#[derive(Clone, Copy)]
struct Pair {
    first: usize,
    second: usize,
    /// The window that is compared in this pass begins at this byte of the names.
    from: u64,
    differ: bool,
}

impl<'s> DuplicateCheck<'s> {
    /// Stands before byte 0 of a file. At least two slots and one byte of text are needed.
    pub const fn new(key: [u64; 2], slots: &'s mut [Slot], text: &'s mut [u8]) -> Self {
        Self {
            parser: HeaderParser::new(),
            key,
            name: NameHash::new(key),
            names: Smallest::new(slots),
            text,
            stage: Stage::Collecting,
            pair: Pair { first: 0, second: 0, from: 0, differ: false },
        }
    }

    /// Reads on, and moves `input` past what it consumed.
    ///
    /// # Errors
    /// [`ErrorKind::NameTwice`] or [`ErrorKind::KeyTwice`] at the second of the two;
    /// [`ErrorKind::SlotCount`] or [`ErrorKind::NameLength`] when the memory is too small; the
    /// faults of the header. The same error again at every further call.
    ///
    /// # Panics
    /// Never.
    pub const fn push(&mut self, input: &mut &[u8]) -> Result<Progress, Error> {
        loop {
            let event = match self.parser.next(input) {
                Ok(event) => event,
                Err(error) => return Err(error),
            };
            let outcome = match event {
                Event::NeedInput => return Ok(Progress::NeedInput),
                Event::HeaderEnd => return self.end_pass(),
                Event::Name(piece) | Event::Key(piece) => self.take(&piece),
                Event::Tensor => self.end_name(false),
                Event::KeyEnd => self.end_name(true),
                Event::Metadata => self.forget_name(),
                _ => Ok(()),
            };
            if let Err(error) = outcome {
                return Err(self.parser.fail(error));
            }
        }
    }

    const fn forget_name(&mut self) -> Result<(), Error> {
        self.name = NameHash::new(self.key);
        Ok(())
    }

    const fn take(&mut self, piece: &Text<'_>) -> Result<(), Error> {
        if let Stage::Comparing = self.stage {
            self.compare(piece.as_bytes());
        }
        self.name.push(piece.as_bytes());
        Ok(())
    }

    /// Keeps or compares the part of a name that lies in the window.
    const fn compare(&mut self, piece: &[u8]) {
        let at = self.parser.event_start();
        let is_first = is_at(self.names.get(self.pair.first), at);
        if !is_first && !is_at(self.names.get(self.pair.second), at) {
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

    const fn end_name(&mut self, is_key: bool) -> Result<(), Error> {
        let at = self.parser.event_start();
        let tie = (self.name.len() << 1) | is_key as u64;
        if let Stage::Collecting = self.stage {
            self.names.offer(Slot { key: self.name.finish() & HASH_MASK, tie, at });
        }
        self.forget_name()
    }

    const fn end_pass(&mut self) -> Result<Progress, Error> {
        let stage = match self.stage {
            Stage::Collecting => {
                self.names.sort();
                self.pair = Pair { first: 0, second: 1, from: 0, differ: false };
                self.next_suspicion()
            }
            Stage::Comparing => self.judge_window(),
            Stage::Distinct => Ok(Stage::Distinct),
        };
        match stage {
            Ok(Stage::Distinct) => {
                self.stage = Stage::Distinct;
                Ok(Progress::Done)
            }
            Ok(stage) => {
                self.stage = stage;
                self.parser = HeaderParser::new();
                Ok(Progress::Rewind)
            }
            Err(error) => Err(self.parser.fail(error)),
        }
    }

    /// Goes on from the current pair to the next one with equal hash, length and kind.
    const fn next_suspicion(&mut self) -> Result<Stage, Error> {
        while let Some(first) = self.names.get(self.pair.first) {
            match self.names.get(self.pair.second) {
                Some(second) if first.is_alike(&second) => return self.suspect(second, first.tie >> 1),
                _ => {
                    self.pair.first += 1;
                    self.pair.second = self.pair.first + 1;
                }
            }
        }
        self.next_round()
    }

    const fn suspect(&mut self, second: Slot, needed: u64) -> Result<Stage, Error> {
        match (needed, self.text.len() as u64) {
            (0, _) => Err(twice(second)),
            (_, 0) => Err(ErrorKind::NameLength { needed: 1, capacity: 0 }.at(second.at)),
            _ => Ok(Stage::Comparing),
        }
    }

    const fn judge_window(&mut self) -> Result<Stage, Error> {
        if self.pair.differ {
            self.pair = Pair { second: self.pair.second + 1, from: 0, differ: false, ..self.pair };
            return self.next_suspicion();
        }
        self.pair.from += self.text.len() as u64;
        match self.names.get(self.pair.second) {
            Some(second) if self.pair.from >= second.tie >> 1 => Err(twice(second)),
            _ => Ok(Stage::Comparing),
        }
    }

    /// The names that did not fit come next, together with those that are like the last one that
    /// did: a pair must not be parted by the border between two rounds.
    const fn next_round(&mut self) -> Result<Stage, Error> {
        if !self.names.overflowed() {
            return Ok(Stage::Distinct);
        }
        let mut index = self.names.len();
        let last = self.names.get(index.wrapping_sub(1));
        while let (Some(last), Some(before)) = (last, self.names.get(index.wrapping_sub(1))) {
            if !last.is_alike(&before) {
                break;
            }
            index -= 1;
        }
        match self.names.get(index) {
            Some(floor) if index > 0 => {
                self.names.restart(floor);
                Ok(Stage::Collecting)
            }
            _ => {
                Err(ErrorKind::SlotCount { capacity: self.names.capacity() as u64 }
                    .at(self.parser.position()))
            }
        }
    }
}

const fn is_at(slot: Option<Slot>, at: u64) -> bool {
    matches!(slot, Some(slot) if slot.at == at)
}

const fn twice(second: Slot) -> Error {
    let kind = if second.tie & 1 == 1 { ErrorKind::KeyTwice } else { ErrorKind::NameTwice };
    kind.at(second.at)
}

/// Proves a whole file in memory to have no name twice, as [`DuplicateCheck`] does.
///
/// # Errors
/// As [`DuplicateCheck::push`], and [`HeaderParser::end_of_input`] when the header is not complete.
pub const fn check_duplicates(file: &[u8], slots: &mut [Slot], text: &mut [u8]) -> Result<(), Error> {
    let mut check = DuplicateCheck::new([0, 0], slots, text);
    loop {
        let mut input = file;
        match check.push(&mut input) {
            Ok(Progress::Rewind) => {}
            Ok(Progress::Done) => return Ok(()),
            Ok(Progress::NeedInput) => return check.parser.end_of_input(),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::check_duplicates;
    use crate::error::{Error, ErrorKind};
    use crate::smallest::Slot;
    use std::{format, string::String, vec, vec::Vec};

    /// A header with these names, and where each begins.
    fn header_of(names: &[String]) -> (Vec<u8>, Vec<u64>) {
        let mut header = String::from("{");
        let mut places = vec![];
        for (i, name) in names.iter().enumerate() {
            header += if i > 0 { "," } else { "" };
            places.push(8 + header.len() as u64);
            header += &format!(r#""{name}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#);
        }
        header += "}";
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.as_bytes());
        (file, places)
    }

    fn verdict(file: &[u8], slots: usize, text: usize) -> Result<(), Error> {
        check_duplicates(file, &mut vec![Slot::EMPTY; slots], &mut vec![0; text])
    }

    /// 40 names of one length that share four hashes.
    fn names() -> Vec<String> {
        (10..50).map(|i| format!("layer.{i}.weight")).collect()
    }

    #[test]
    fn names_that_only_share_a_hash_are_distinct() {
        let (file, _) = header_of(&names());
        for (slots, text) in [(40, 1), (41, 100), (25, 3), (20, 7), (64, 15), (64, 16)] {
            assert_eq!(verdict(&file, slots, text), Ok(()), "{slots} slots, {text} bytes");
        }
    }

    #[test]
    fn two_equal_names_are_found_among_many_that_share_a_hash() {
        for (first, second) in [(0, 1), (0, 39), (17, 23), (38, 39)] {
            let mut all = names();
            all[second] = all[first].clone();
            let (file, places) = header_of(&all);
            for (slots, text) in [(40, 1), (22, 5), (64, 100)] {
                assert_eq!(verdict(&file, slots, text), Err(ErrorKind::NameTwice.at(places[second])));
            }
        }
    }

    #[test]
    fn too_few_slots_for_one_hash_is_a_limit_and_says_so() {
        let (file, _) = header_of(&names());
        let error = verdict(&file, 3, 100).expect_err("ten names share a hash");
        assert_eq!(error.kind, ErrorKind::SlotCount { capacity: 3 });
        assert_eq!(verdict(&file, 0, 100).map_err(|e| e.kind), Err(ErrorKind::SlotCount { capacity: 0 }));
    }

    #[test]
    fn without_text_memory_a_suspicion_cannot_be_judged() {
        let (file, _) = header_of(&names());
        let kind = verdict(&file, 64, 0).map_err(|error| error.kind);
        assert_eq!(kind, Err(ErrorKind::NameLength { needed: 1, capacity: 0 }));
    }

    #[test]
    fn the_empty_name_twice_needs_no_text() {
        let (file, places) = header_of(&[String::new(), "a".into(), String::new()]);
        assert_eq!(verdict(&file, 4, 0), Err(ErrorKind::NameTwice.at(places[2])));
    }
}
