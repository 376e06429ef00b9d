//! Validates a file of the pack, and compares the verdict.

use super::Work;
use super::expectation::Expectation;
use super::failure::{Failure, File};
use super::outcome::{Difference, Outcome, Verdict};
use embedded_safetensors::{Error, ErrorKind, Model, ReadAt, ReadError, header::Entry, io::FileLen};

/// The key of the hash that finds duplicate names. The verdict does not depend on it.
const KEY: [u64; 2] = [1, 2];

/// A part of a storage, as a file.
pub struct Part<'s, S> {
    storage: &'s mut S,
    start: u64,
    len: u64,
    /// The offset in the storage at which the last read began.
    last_at: u64,
    /// The offset in the part at which the storage ended too early.
    end: Option<u64>,
}

impl<'s, S> Part<'s, S> {
    /// Creates a part of `len` bytes from `start`.
    pub const fn new(storage: &'s mut S, start: u64, len: u64) -> Self {
        Self { storage, start, len, last_at: start, end: None }
    }
}

impl<S: ReadAt> ReadAt for Part<'_, S> {
    type Error = S::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, S::Error> {
        let left = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let most = buffer.len().min(left);
        let Some(buffer) = buffer.get_mut(..most).filter(|buffer| !buffer.is_empty()) else { return Ok(0) };
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

/// Validates a file, and compares the verdict with the expected one.
///
/// # Errors
/// Those of the storage.
pub fn judge<'e, S: ReadAt>(
    file: &mut Part<'_, S>,
    expectation: &Expectation<'e>,
    work: &mut Work,
) -> Result<Outcome<'e>, Failure<S::Error>> {
    let judged = compared(&mut *file, expectation, work);
    // If the file is incomplete, the verdict is replaced by an error about the pack.
    let judged = file.end.map_or(judged, |at| Err(Unread::Ends { at }));
    judged.map_err(|error| match error {
        Unread::Source(error) => Failure::storage(File::Pack, file.last_at, error),
        Unread::Ends { at } => Failure::Ends { file: File::Pack, at: file.start + at },
    })
}

/// The reason why there is no verdict.
enum Unread<E> {
    Source(E),
    /// The file ends at this byte.
    Ends {
        at: u64,
    },
}

fn compared<'e, S: ReadAt>(
    file: &mut Part<'_, S>,
    expectation: &Expectation<'e>,
    work: &mut Work,
) -> Result<Outcome<'e>, Unread<S::Error>> {
    let (verdict, difference) = match split_error(opened(file, work))? {
        Ok(mut model) => {
            let verdict = Verdict::Valid { tensors: model.summary().tensors };
            (verdict, listed(&mut model, expectation, work)?)
        }
        Err(error) => (Verdict::Invalid { code: error.kind.code(), at: error.at }, None),
    };
    let expected = expectation.verdict().filter(|expected| *expected != verdict);
    Ok(Outcome::Judged { verdict, difference: expected.map(Difference::Verdict).or(difference) })
}

/// Opens a model whose header is valid and has no duplicate names.
#[inline(never)] // its stack is free again when it returns
fn opened<F: ReadAt>(file: F, work: &mut Work) -> Result<Model<F>, ReadError<F::Error>> {
    let mut model = Model::open_unordered(file, &mut work.slots, &mut work.window)?;
    model.validate_names(KEY, &mut work.slots, &mut work.text, &mut work.window)?;
    Ok(model)
}

/// Separates errors about the file's contents from failures to read it.
fn split_error<T, E>(outcome: Result<T, ReadError<E>>) -> Result<Result<T, Error>, Unread<E>> {
    match outcome {
        Ok(value) => Ok(Ok(value)),
        Err(ReadError::Format(error)) => Ok(Err(error)),
        Err(ReadError::Source(error)) => Err(Unread::Source(error)),
        Err(ReadError::UnexpectedEof { at }) => Err(Unread::Ends { at }),
    }
}

/// Compares the file's contents with those in the manifest, if it lists them.
fn listed<'e, S: ReadAt>(
    model: &mut Model<S>,
    expectation: &Expectation<'e>,
    work: &mut Work,
) -> Result<Option<Difference<'e>>, Unread<S::Error>> {
    if !expectation.is_listed() {
        return Ok(None);
    }
    let other = match split_error(other_tensor(model, expectation, work))? {
        // Shapes with too many dimensions cannot be compared; the manifest has one, too.
        Err(Error { kind: ErrorKind::Rank { .. }, .. }) if expectation.has_long_shape() => None,
        Err(error) => return Ok(Some(Difference::Listing { code: error.kind.code() })),
        Ok(other) => other.map(|at| Difference::Tensor { at }),
    };
    Ok(match split_error(model.metadata(&mut work.text, &mut work.window))? {
        Ok(found) if expectation.has_metadata(found) => other,
        Ok(_) => other.or(Some(Difference::Metadata)),
        Err(error) => Some(Difference::Listing { code: error.kind.code() }),
    })
}

/// Returns the byte of the first tensor that is not listed.
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
