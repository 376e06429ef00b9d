//! The verdict on one file of the pack.

use super::Work;
use super::expectation::Expectation;
use super::failure::{Failure, File};
use super::outcome::{Difference, Outcome, Verdict};
use embedded_safetensors::{Error, ErrorKind, Model, ReadAt, ReadError, header::Entry, io::FileLen};

/// Of the hash by which equal names are found. The verdict does not depend on it.
const KEY: [u64; 2] = [1, 2];

/// A part of a storage, as if it were a file of its own.
pub struct Part<'s, S> {
    storage: &'s mut S,
    start: u64,
    len: u64,
    /// Where in the storage the last read began.
    last_at: u64,
    /// The byte of the part at which the storage said that it ends there.
    end: Option<u64>,
}

impl<'s, S> Part<'s, S> {
    /// So many bytes from `start` on.
    pub const fn new(storage: &'s mut S, start: u64, len: u64) -> Self {
        Self { storage, start, len, last_at: start, end: None }
    }
}

impl<S: ReadAt> ReadAt for Part<'_, S> {
    type Error = S::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, S::Error> {
        let left = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let room = buffer.len().min(left);
        let Some(buffer) = buffer.get_mut(..room).filter(|buffer| !buffer.is_empty()) else { return Ok(0) };
        self.last_at = self.start + offset;
        let len = self.storage.read_at(self.last_at, buffer)?;
        if len == 0 {
            self.end.get_or_insert(offset);
        }
        Ok(len)
    }

    fn file_len(&mut self) -> Result<FileLen, S::Error> {
        Ok(FileLen::Exactly(self.len))
    }
}

/// Judges a file, and compares the verdict with what is expected.
///
/// # Errors
/// Those of the storage.
pub fn judge<'e, S: ReadAt>(
    file: &mut Part<'_, S>,
    expectation: &Expectation<'e>,
    work: &mut Work,
) -> Result<Outcome<'e>, Failure<S::Error>> {
    let judged = compared(&mut *file, expectation, work);
    // What is said of a file that is not all there, is said of the pack.
    let judged = file.end.map_or(judged, |at| Err(Unread::Ends { at }));
    judged.map_err(|error| match error {
        Unread::Source(error) => Failure::storage(File::Pack, file.last_at, error),
        Unread::Ends { at } => Failure::Ends { file: File::Pack, at: file.start + at },
    })
}

/// Why there is no verdict.
enum Unread<E> {
    Source(E),
    /// At this byte of the file.
    Ends {
        at: u64,
    },
}

fn compared<'e, S: ReadAt>(
    file: &mut Part<'_, S>,
    expectation: &Expectation<'e>,
    work: &mut Work,
) -> Result<Outcome<'e>, Unread<S::Error>> {
    let (verdict, difference) = match said(opened(file, work))? {
        Ok(mut model) => {
            let verdict = Verdict::Sound { tensors: model.summary().tensors };
            (verdict, listed(&mut model, expectation, work)?)
        }
        Err(error) => (Verdict::Unsound { code: error.kind.code(), at: error.at }, None),
    };
    let expected = expectation.verdict().filter(|expected| *expected != verdict);
    Ok(Outcome::Judged { verdict, difference: expected.map(Difference::Verdict).or(difference) })
}

/// A model whose header is sound, and no name in it occurs twice.
#[inline(never)] // its stack is free again when it returns
fn opened<F: ReadAt>(file: F, work: &mut Work) -> Result<Model<F>, ReadError<F::Error>> {
    let mut model = Model::open_unordered(file, &mut work.slots, &mut work.window)?;
    model.validate_names(KEY, &mut work.slots, &mut work.text, &mut work.window)?;
    Ok(model)
}

/// What is said of the file is no failure to read it.
fn said<T, E>(outcome: Result<T, ReadError<E>>) -> Result<Result<T, Error>, Unread<E>> {
    match outcome {
        Ok(value) => Ok(Ok(value)),
        Err(ReadError::Format(error)) => Ok(Err(error)),
        Err(ReadError::Source(error)) => Err(Unread::Source(error)),
        Err(ReadError::UnexpectedEof { at }) => Err(Unread::Ends { at }),
    }
}

/// Compares what the file holds with what the manifest lists, if it does.
fn listed<'e, S: ReadAt>(
    model: &mut Model<S>,
    expectation: &Expectation<'e>,
    work: &mut Work,
) -> Result<Option<Difference<'e>>, Unread<S::Error>> {
    if !expectation.is_listed() {
        return Ok(None);
    }
    let other = match said(other_tensor(model, expectation, work))? {
        // Such shapes cannot be shown, and the manifest has one.
        Err(Error { kind: ErrorKind::Rank { .. }, .. }) if expectation.has_long_shape() => None,
        Err(error) => return Ok(Some(Difference::Listing { code: error.kind.code() })),
        Ok(other) => other.map(|at| Difference::Tensor { at }),
    };
    Ok(match said(model.metadata(&mut work.text, &mut work.window))? {
        Ok(found) if expectation.has_metadata(found) => other,
        Ok(_) => other.or(Some(Difference::Metadata)),
        Err(error) => Some(Difference::Listing { code: error.kind.code() }),
    })
}

/// Where the first tensor stands that is not listed.
#[inline(never)] // as above
fn other_tensor<S: ReadAt>(
    model: &mut Model<S>,
    expectation: &Expectation<'_>,
    work: &mut Work,
) -> Result<Option<u64>, ReadError<S::Error>> {
    let mut other = None;
    let visitor = |entry: &Entry<'_>| {
        if !expectation.has_tensor(entry) {
            other.get_or_insert(entry.at);
        }
    };
    model.for_each(&mut work.text, &mut work.window, visitor)?;
    Ok(other)
}
