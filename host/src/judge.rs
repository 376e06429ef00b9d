//! The verdict: header, layout, length and names, in memory that does not depend on the file.

use crate::failure::{Failure, NotRead};
use crate::header::{Part, each_entry, feed, visit};
use crate::parallel::both;
use crate::source::{Data, Source};
use embedded_safetensors::{
    Error, ErrorKind,
    header::Event,
    validate::{DuplicateCheck, HeaderCheck, Progress, Slot, Summary},
};
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, PoisonError};

/// The most slots that are ever allocated at one time, by all threads together: 24 MiB.
const MOST_SLOTS: u64 = 1 << 20;
/// A header of so many bytes is worth a second thread.
const LONG: usize = 1 << 20;
/// No tensor takes less of a header.
const SHORTEST_ENTRY: u64 = 50;
/// Names longer than this are compared piece by piece. Untouched unless two hashes are the same.
const NAME_MEMORY: usize = 1 << 19;

/// Judges a file. Of a stream the data is read too, and kept if the caller wants it.
pub fn judge(source: &mut Source, data: Data) -> Result<Summary, Failure> {
    let verdict = judge_contents(source, data);
    source.check_unchanged()?;
    verdict
}

fn judge_contents(source: &mut Source, data: Data) -> Result<Summary, Failure> {
    match source.header().zip(source.len()).and_then(|(header, len)| praise(&header, len)) {
        Some(summary) => Ok(summary),
        None => judge_in_passes(source, data),
    }
}

/// The good verdict on a header that is held, which most deserve. What is wrong with another, if anything, is found out in passes.
fn praise(header: &[u8], file_len: u64) -> Option<Summary> {
    if header.len() < LONG {
        return praise_order(header, file_len).filter(|_| may_not_have_twins(header));
    }
    let (summary, has_no_twins) = both(|| praise_order(header, file_len), || may_not_have_twins(header));
    summary.filter(|_| has_no_twins)
}

fn praise_order(header: &[u8], file_len: u64) -> Option<Summary> {
    match praise_layout(header, file_len, &mut []) {
        Err(error) if error.kind == ErrorKind::OutOfOrder => {
            let mut slots = Slots::take(2 + header.len() as u64 / SHORTEST_ENTRY);
            praise_layout(header, file_len, &mut slots.slots).ok()
        }
        verdict => verdict.ok(),
    }
}

fn praise_layout(header: &[u8], file_len: u64, slots: &mut [Slot]) -> Result<Summary, Error> {
    let mut check = HeaderCheck::new(Some(file_len), slots);
    while check.push(&mut &header[..])? == Progress::Rewind {}
    check.summary().ok_or(Error { kind: ErrorKind::Changed, at: check.position() })
}

/// Whether all names of tensors have different hashes, and all keys of the metadata.
fn may_not_have_twins(header: &[u8]) -> bool {
    let chance = RandomState::new();
    let (mut names, mut keys, mut text) = (Vec::new(), Vec::new(), chance.build_hasher());
    let read = each_entry(header, |part| match part {
        Part::Tensor(entry) => names.push(hash(chance.build_hasher(), entry.name_bytes())),
        Part::Event(Event::Name(piece) | Event::Key(piece)) => text.write(piece.as_bytes()),
        Part::Event(Event::Metadata) => text = chance.build_hasher(),
        Part::Event(Event::Tensor) => names.push(take(&mut text, &chance)),
        Part::Event(Event::KeyEnd) => keys.push(take(&mut text, &chance)),
        Part::Event(_) => {}
    });
    read.is_ok() && are_different(&mut names) && are_different(&mut keys)
}

fn hash(mut hasher: impl Hasher, text: &[u8]) -> u64 {
    hasher.write(text);
    hasher.finish()
}

fn take(text: &mut DefaultHasher, chance: &RandomState) -> u64 {
    std::mem::replace(text, chance.build_hasher()).finish()
}

fn are_different(hashes: &mut [u64]) -> bool {
    hashes.sort_unstable();
    hashes.windows(2).all(|pair| pair[0] != pair[1])
}

fn judge_in_passes(source: &mut Source, data: Data) -> Result<Summary, Failure> {
    let mut slots = Slots::take(count_names(source)?);
    let summary = judge_header(source, &mut slots.slots)?;
    if source.len().is_none() {
        let len = source.take_in_data(summary.data_start, summary.data_len, data)?;
        summary.check_file_len(len)?;
    }
    judge_names(source, &mut slots.slots, summary.data_start)?;
    Ok(summary)
}

/// How many tensors and metadata keys there are, up to the header's first fault. Counting costs a
/// pass, but slots cost memory as soon as they exist.
fn count_names(source: &mut Source) -> Result<u64, NotRead> {
    let mut names = 0;
    let counted = visit(source, |event, _, _| {
        names += u64::from(matches!(event, Event::Tensor | Event::KeyEnd));
        Ok(ControlFlow::Continue(()))
    });
    match counted {
        Err(Failure::NotRead(reason)) => Err(reason),
        // The fault is found again, and reported, by the check that sees all faults.
        Ok(()) | Err(Failure::Unsound(_)) => Ok(names),
    }
}

/// Slots out of as many as all threads together may have.
struct Slots {
    slots: Vec<Slot>,
    taken: u64,
}

static FREE: Mutex<u64> = Mutex::new(MOST_SLOTS);
static GIVEN_BACK: Condvar = Condvar::new();

impl Slots {
    /// As many as there are names, so that one pass takes them all, or the most there may be. Waits until they are free.
    fn take(names: u64) -> Self {
        let taken = names.clamp(2, MOST_SLOTS);
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        while *free < taken {
            free = GIVEN_BACK.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= taken;
        drop(free);
        Self { slots: (0..taken).map(|_| Slot::EMPTY).collect(), taken }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // The memory is free before anybody else may have as much.
        self.slots = Vec::new();
        *FREE.lock().unwrap_or_else(PoisonError::into_inner) += self.taken;
        GIVEN_BACK.notify_all();
    }
}

fn judge_header(source: &mut Source, slots: &mut [Slot]) -> Result<Summary, Failure> {
    let mut check = HeaderCheck::new(source.len(), slots);
    feed(source, false, |input| check.push(input))?;
    check.summary().ok_or_else(|| NotRead::changed().into())
}

/// No name is longer than the header.
fn judge_names(source: &mut Source, slots: &mut [Slot], header: u64) -> Result<(), Failure> {
    let chance = RandomState::new();
    let mut text = vec![0; usize::try_from(header).unwrap_or(NAME_MEMORY).min(NAME_MEMORY)];
    let mut check = DuplicateCheck::new([chance.hash_one(0), chance.hash_one(1)], slots, &mut text);
    feed(source, true, |input| check.push(input))
}
