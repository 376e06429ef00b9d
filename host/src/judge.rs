//! The verdict: header, layout, length and names, in memory that does not depend on the file.

use crate::complaint::Complaint;
use crate::failure::{Failure, NotRead};
use crate::header::visit;
use crate::open::open;
use crate::source::{BUFFER, Data, Source};
use embedded_safetensors::{
    Error, ErrorKind, Model, ReadError,
    header::Event,
    index::OwnedIndex,
    validate::{SortSlot, Summary},
};
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};

/// The most slots that are ever allocated at one time, by all threads together: 24 MiB.
const MOST_SLOTS: u64 = 1 << 20;
/// A header up to this length is read at once, if nobody wants more.
pub const SHORT: u64 = 256 * 1024;
/// Names longer than this are compared piece by piece. Untouched unless two hashes are the same.
const NAME_MEMORY: usize = 1 << 19;

/// Opens a file, or standard input for `-`, and proves it as [`prove`] does.
///
/// # Errors
/// As there; it cannot be opened.
pub fn open_sound(path: &Path, most: u64, data: Data) -> Result<(Source, Judged), Complaint> {
    let mut source = open(path).map_err(|reason| Complaint::not_read(path, reason))?;
    let judged = prove(&mut source, path, most, data)?;
    Ok((source, judged))
}

/// Judges a file as [`judge`] does.
///
/// # Errors
/// It is not sound, or cannot be read.
pub fn prove(source: &mut Source, path: &Path, most: u64, data: Data) -> Result<Judged, Complaint> {
    judge(source, most, data).map_err(|failure| Complaint::of(path, source, failure))
}

/// What a sound file describes, and the list of that if its header is short and the list takes little more.
pub type Judged = (Summary, Option<OwnedIndex>);

/// Judges a file, and lists what is in it if its header has at most so many bytes. Of a stream the data is read too, and kept if the caller wants it.
pub fn judge(source: &mut Source, most: u64, data: Data) -> Result<Judged, Failure> {
    let judged = list(source, most).and_then(|index| match index {
        Some(index) => Ok((index.summary(), Some(index))),
        None => judge_in_passes(source, data).map(|summary| (summary, None)),
    });
    source.check_unchanged()?;
    judged
}

fn list(source: &mut Source, most: u64) -> Result<Option<OwnedIndex>, Failure> {
    match source.header(most)?.zip(source.len()) {
        Some((header, len)) => {
            let most = usize::try_from(most + most / 2).unwrap_or(usize::MAX);
            Ok(OwnedIndex::of_at_most(&header, len, most)?)
        }
        None => Ok(None),
    }
}

fn judge_in_passes(source: &mut Source, data: Data) -> Result<Summary, Failure> {
    let mut slots = Slots::take(count_names(source)?);
    let (slots, mut window) = (&mut slots.slots, vec![0; BUFFER]);
    if source.len().is_none() {
        // How long a stream is, is known at its end, to which only a sound header leads.
        let data_len = match Model::open_unordered(&mut *source, slots, &mut window) {
            Ok(model) => model.summary().data_len,
            // More than any file has; the error tells how much this one has.
            Err(ReadError::Format(Error { kind: ErrorKind::DataShort { needed, .. }, .. })) => needed,
            Err(error) => return Err(error.into()),
        };
        let data_start = source.header_end()?;
        source.take_in_data(data_start, data_len, data)?;
    }
    let mut model = Model::open_unordered(source, slots, &mut window)?;
    let (summary, chance) = (model.summary(), RandomState::new());
    // No name is longer than the header.
    let mut text = vec![0; usize::try_from(summary.data_start).unwrap_or(NAME_MEMORY).min(NAME_MEMORY)];
    model.validate_names([chance.hash_one(0), chance.hash_one(1)], slots, &mut text, &mut window)?;
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
    slots: Vec<SortSlot>,
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
        Self { slots: (0..taken).map(|_| SortSlot::EMPTY).collect(), taken }
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
