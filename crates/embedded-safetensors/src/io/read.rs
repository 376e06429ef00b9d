//! Errors of reading storage, and lengths of files.

use super::ReadAt;
use crate::error::{Error, ErrorKind};
use core::fmt;
use core::ops::Range;

/// The length of a file, as far as its storage knows.
///
/// *Memory*: 16 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FileLen {
    /// The file has exactly this many bytes, and its tensors must end with it.
    Exactly(u64),
    /// The file has at most this many bytes, as in a partition: its tensors must end there or before.
    AtMost(u64),
    /// The length is not known. A file that is too short is detected when its end is read.
    Unknown,
}

impl FileLen {
    pub(crate) const fn exact(self) -> Option<u64> {
        match self {
            Self::Exactly(len) => Some(len),
            Self::AtMost(_) | Self::Unknown => None,
        }
    }

    /// Returns the greatest length that the file may have, and whether it has that length.
    pub(crate) const fn limit(self) -> (u64, bool) {
        match self {
            Self::Exactly(len) => (len, true),
            Self::AtMost(len) => (len, false),
            // Offsets are 64 bits, so no file is longer.
            Self::Unknown => (u64::MAX, false),
        }
    }
}

/// An error while reading: of the file, of the storage, or an early end of the file.
///
/// *Memory*: 32 bytes and that of `E`, `Copy` if `E` is.
///
/// ```
/// use embedded_safetensors::{Model, ReadAt, ReadError};
///
/// fn report<S: ReadAt>(storage: S) {
///     match Model::open(storage, &mut [0; 64]) {
///         Err(ReadError::Format(error)) => println!("{} at byte {}", error.kind.code(), error.at),
///         Err(ReadError::Source(_)) => println!("the storage failed: try again"),
///         Err(ReadError::UnexpectedEof { at }) => println!("the file ends at byte {at}"),
///         Ok(model) => println!("{:?}", model.summary()),
///     }
/// }
/// # report(&b"not a model"[..]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError<E> {
    /// An error of the file, a buffer or the request: see [`ErrorKind::class`](crate::ErrorKind::class).
    Format(Error),
    /// The storage failed. The call that reported it can be repeated.
    Source(E),
    /// The storage reports the end of the file, although its header was validated before, and the header or
    /// the tensors need more. (If a file ends while its header is validated, the file is invalid: that is a
    /// [`Format`](Self::Format) error.)
    UnexpectedEof {
        /// The offset of the missing byte in the file.
        at: u64,
    },
}

/// Returns how many bytes a read returned at byte `at` of the file, at most `asked`.
///
/// # Errors
/// [`ErrorKind::Count`] if it claims more; those of the storage.
#[inline]
pub(crate) fn counted<E>(outcome: Result<usize, E>, at: u64, asked: usize) -> Result<usize, ReadError<E>> {
    match outcome {
        Ok(len) if len > asked => Err(ReadError::Format(wrong_count(len, asked, at))),
        Ok(len) => Ok(len),
        Err(error) => Err(ReadError::Source(error)),
    }
}

#[cold]
fn wrong_count(claimed: usize, asked: usize, at: u64) -> Error {
    ErrorKind::Count { claimed: claimed as u64, asked: asked as u64 }.at(at)
}

/// As [`counted`], but at least one.
///
/// # Errors
/// [`ReadError::UnexpectedEof`] if it returned none; otherwise as [`counted`].
pub(crate) fn arrived<E>(outcome: Result<usize, E>, at: u64, asked: usize) -> Result<usize, ReadError<E>> {
    match counted(outcome, at, asked)? {
        0 => Err(ReadError::UnexpectedEof { at }),
        len => Ok(len),
    }
}

/// Fills the buffer from byte `offset` of the file on: in one read, if the storage returns all requested
/// bytes.
///
/// # Errors
/// Those of the storage; [`ReadError::UnexpectedEof`].
#[inline]
pub fn read_full<S: ReadAt>(
    source: &mut S,
    offset: u64,
    buffer: &mut [u8],
) -> Result<(), ReadError<S::Error>> {
    let all = 0..buffer.len();
    read_part(source, offset, buffer, all)
}

/// Fills `memory[part]` as [`read_full`] does, by [`ReadAt::read_within`]. The rest of the memory may hold
/// anything afterwards.
///
/// # Errors
/// Those of the storage; [`ReadError::UnexpectedEof`].
#[inline]
pub fn read_part<S: ReadAt>(
    source: &mut S,
    offset: u64,
    memory: &mut [u8],
    part: Range<usize>,
) -> Result<(), ReadError<S::Error>> {
    if part.is_empty() {
        return Ok(());
    }
    match source.read_within(offset, memory, part.clone()) {
        Ok(len) if len == part.len() => Ok(()),
        outcome => read_rest(source, offset, memory.get_mut(part).unwrap_or_default(), outcome),
    }
}

/// Continues after a first read that returned fewer bytes than requested.
#[inline(never)] // keeps its stack out of every first read
fn read_rest<S: ReadAt>(
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

impl<E> ReadError<E> {
    /// As [`Error::tensor_name`], also `None` for an error of the storage.
    pub fn tensor_name<'n>(&self, queries: &'n [impl AsRef<str>]) -> Option<&'n str> {
        match self {
            Self::Format(error) => error.tensor_name(queries),
            Self::Source(_) | Self::UnexpectedEof { .. } => None,
        }
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
    Self::UnexpectedEof { at } => "the file ends too early: byte {} is missing", at;
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for ReadError<E> {}
