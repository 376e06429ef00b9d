//! What can go wrong where storage is read, and how long files are.

use super::ReadAt;
use crate::error::Error;
use core::fmt;

/// How long a file is, as far as its storage knows.
///
/// *Memory*: 16 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FileLen {
    /// It has exactly so many bytes, and its tensors must end with it.
    Exactly(u64),
    /// It has no more than so many bytes, as in a partition: its tensors must end there or before.
    AtMost(u64),
    /// Nobody knows. A file that is too short shows when its end is read.
    Unknown,
}

impl FileLen {
    pub(crate) const fn exact(self) -> Option<u64> {
        match self {
            Self::Exactly(len) => Some(len),
            Self::AtMost(_) | Self::Unknown => None,
        }
    }
}

/// Why something could not be read: the file, the storage, or a file that ends too early.
///
/// *Memory*: 32 bytes and what `E` takes, `Copy` if `E` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError<E> {
    /// What the file, the memory or the request is at fault for: see [`ErrorKind::class`](crate::ErrorKind::class).
    Format(Error),
    /// The storage failed. The call that reported it can be made again.
    Source(E),
    /// The storage says that the file ends here, though its header was proven before, and the header or the
    /// tensors need more. (A file that ends while its header is proven is the file's fault, a
    /// [`Format`](Self::Format) error.)
    UnexpectedEof {
        /// The byte of the file that is not there.
        at: u64,
    },
}

/// How many bytes a read gave that was to give one at least and `room` at most, at byte `at` of the file.
/// Storage that claims to have given more has broken its word; the buffer is full all the same.
///
/// # Errors
/// [`ReadError::UnexpectedEof`] where it gave none; those of the storage.
pub(crate) fn arrived<E>(outcome: Result<usize, E>, at: u64, room: usize) -> Result<usize, ReadError<E>> {
    match outcome {
        Ok(0) => Err(ReadError::UnexpectedEof { at }),
        Ok(len) => Ok(len.min(room)),
        Err(error) => Err(ReadError::Source(error)),
    }
}

/// Fills the buffer from byte `offset` of the file on: in one read, where the storage gives all that it is
/// asked for.
///
/// # Errors
/// Those of the storage; [`ReadError::UnexpectedEof`].
#[inline]
pub(crate) fn read_full<S: ReadAt>(
    source: &mut S,
    offset: u64,
    buffer: &mut [u8],
) -> Result<(), ReadError<S::Error>> {
    if buffer.is_empty() {
        return Ok(());
    }
    match source.read_at(offset, buffer) {
        Ok(len) if len >= buffer.len() => Ok(()),
        outcome => read_on(source, offset, buffer, outcome),
    }
}

/// Goes on where the first read gave less than it was asked for.
#[inline(never)] // what it needs does not wait beside every first read
fn read_on<S: ReadAt>(
    source: &mut S,
    mut offset: u64,
    mut buffer: &mut [u8],
    mut outcome: Result<usize, S::Error>,
) -> Result<(), ReadError<S::Error>> {
    loop {
        let len = arrived(outcome, offset, buffer.len())?;
        offset += len as u64;
        buffer = buffer.get_mut(len..).unwrap_or_default();
        if buffer.is_empty() {
            return Ok(());
        }
        outcome = source.read_at(offset, buffer);
    }
}

impl<E> From<Error> for ReadError<E> {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}

sentences! {
    ReadError<E>:
    Self::Format(error) => "{}", error;
    Self::Source(error) => "the storage cannot be read: {}", error;
    Self::UnexpectedEof { at } => "the file ends at byte {}, before its end was due", at;
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for ReadError<E> {}
