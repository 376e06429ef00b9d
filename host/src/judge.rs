//! The verdict: header, layout, length and names, in memory that does not depend on the file.

use crate::failure::{Failure, NotRead};
use crate::header::{feed, visit};
use crate::source::{Data, Source};
use embedded_safetensors::{DuplicateCheck, Event, HeaderCheck, Slot, Summary};
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;

/// The most slots that are ever allocated: 24 MiB.
const MOST_SLOTS: u64 = 1 << 20;
/// Names longer than this are compared piece by piece. Untouched unless two hashes are the same.
const NAME_MEMORY: usize = 1 << 20;

/// Judges a file. Of a stream the data is read too, and kept if the caller wants it.
pub fn judge(source: &mut Source, data: Data) -> Result<Summary, Failure> {
    let verdict = judge_contents(source, data);
    source.check_unchanged()?;
    verdict
}

fn judge_contents(source: &mut Source, data: Data) -> Result<Summary, Failure> {
    let mut slots = slots_for(count_names(source)?);
    let summary = judge_header(source, &mut slots)?;
    if source.len().is_none() {
        let len = source.take_in_data(summary.data_start, summary.data_len, data)?;
        summary.check_file_len(len)?;
    }
    judge_names(source, &mut slots)?;
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

/// As many as there are names, so that one pass takes them all.
fn slots_for(names: u64) -> Vec<Slot> {
    let slots = names.clamp(2, MOST_SLOTS);
    (0..slots).map(|_| Slot::EMPTY).collect()
}

fn judge_header(source: &mut Source, slots: &mut [Slot]) -> Result<Summary, Failure> {
    let mut check = HeaderCheck::new(source.len(), slots);
    feed(source, false, |input| check.push(input))?;
    check.summary().ok_or_else(|| NotRead::changed().into())
}

fn judge_names(source: &mut Source, slots: &mut [Slot]) -> Result<(), Failure> {
    let chance = RandomState::new();
    let mut text = vec![0; NAME_MEMORY];
    let mut check = DuplicateCheck::new([chance.hash_one(0), chance.hash_one(1)], slots, &mut text);
    feed(source, true, |input| check.push(input))
}
