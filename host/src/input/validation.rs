//! Validates header, layout, length and names, in memory that does not depend on the file.

use crate::context::Context;
use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::input::evidence::error_of;
use crate::input::header::Failure;
use crate::input::header::visit;
use crate::input::open::open;
use crate::input::source::{BUFFER, Data, Source};
use embedded_safetensors::{
    ErrorKind, Model, ReadError,
    header::Event,
    index::OwnedIndex,
    validate::{SortSlot, Summary},
};
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};

/// The maximum number of slots in all threads together: 24 MiB.
const MOST_SLOTS: u64 = 1 << 20;
/// Headers up to this length are read at once, unless the caller allows more.
pub const SHORT: u64 = 256 * 1024;
/// Longer names are compared piece by piece. Used only if two hashes are equal.
const NAME_MEMORY: usize = 1 << 19;

/// Opens a file, or standard input for `-`, and validates it as [`validate_or_report`] does.
///
/// # Errors
/// Those of [`validate_or_report`]; the file cannot be opened.
pub fn open_valid(
    context: &Context,
    path: &Path,
    most: u64,
    data: Data,
) -> Result<(Source, Validated), Error> {
    let mut source = open(context, path).map_err(|reason| Error::not_read(path, reason))?;
    let judged = validate_or_report(&mut source, path, most, data)?;
    Ok((source, judged))
}

/// Validates a file as [`validate_source`] does.
///
/// # Errors
/// The file is invalid or cannot be read.
pub fn validate_or_report(
    source: &mut Source,
    path: &Path,
    most: u64,
    data: Data,
) -> Result<Validated, Error> {
    validate_source(source, most, data).map_err(|failure| error_of(path, source, failure))
}

/// The summary of a valid file, and its list of tensors if the header is short enough.
pub type Validated = (Summary, Option<OwnedIndex>);

/// Validates a file, and lists its tensors if the header has at most `most` bytes. Reads the data of a
/// stream too, and keeps it if requested.
pub fn validate_source(source: &mut Source, most: u64, data: Data) -> Result<Validated, Failure> {
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
        // The length of a stream is known only at its end, which is read only after a valid header.
        let data_len = match Model::open_unordered(&mut *source, slots, &mut window) {
            Ok(model) => model.summary().data_len,
            // Longer than any file; the error contains the length that this file needs.
            Err(ReadError::Format(embedded_safetensors::Error {
                kind: ErrorKind::DataShort { needed, .. },
                ..
            })) => needed,
            Err(error) => return Err(error.into()),
        };
        let data_start = source.header_end()?;
        source.read_data(data_start, data_len, data)?;
    }
    let mut model = Model::open_unordered(source, slots, &mut window)?;
    let (summary, chance) = (model.summary(), RandomState::new());
    // No name is longer than the header.
    let mut text = vec![0; usize::try_from(summary.data_start).unwrap_or(NAME_MEMORY).min(NAME_MEMORY)];
    model.validate_names([chance.hash_one(0), chance.hash_one(1)], slots, &mut text, &mut window)?;
    Ok(summary)
}

/// The number of tensors and metadata keys before the header's first error. Counting costs a pass, but
/// slots cost memory as soon as they exist.
fn count_names(source: &mut Source) -> Result<u64, NotRead> {
    let mut names = 0;
    let counted = visit(source, |event, _, _| {
        names += u64::from(matches!(event, Event::Tensor | Event::KeyEnd));
        Ok(ControlFlow::Continue(()))
    });
    match counted {
        Err(Failure::NotRead(reason)) => Err(reason),
        // Validation finds the error again and reports it.
        Ok(()) | Err(Failure::Invalid(_)) => Ok(names),
    }
}

/// Slots, within the limit for all threads together.
struct Slots {
    slots: Vec<SortSlot>,
    taken: u64,
}

static FREE: Mutex<u64> = Mutex::new(MOST_SLOTS);
static GIVEN_BACK: Condvar = Condvar::new();

impl Slots {
    /// Takes one slot for each name, so that one pass suffices, or the maximum. Waits until they are free.
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
        // Frees the memory before another thread may allocate as much.
        self.slots = Vec::new();
        *FREE.lock().unwrap_or_else(PoisonError::into_inner) += self.taken;
        GIVEN_BACK.notify_all();
    }
}
