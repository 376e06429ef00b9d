//! Errors of writing a file.

use crate::error::spec::SpecError;
use crate::error::{Error, ErrorKind};
use core::fmt;

/// How many bytes the header's length takes. While they are [`ERASED`], no reader accepts the file.
pub(crate) const PREFIX: usize = 8;

/// A length that no header can have.
pub(crate) const ERASED: [u8; PREFIX] = [0xFF; PREFIX];

/// Fails if the storage holds more bytes than the file: bytes after the tensors make a file invalid.
///
/// # Errors
/// [`ErrorKind::Longer`].
pub(crate) fn reject_longer<E>(len: u64, file_len: u64) -> Result<(), WriteError<E>> {
    match len > file_len {
        true => Err(ErrorKind::Longer { len, file_len }.at(file_len).into()),
        false => Ok(()),
    }
}

/// Returns how many bytes a write took: at least one, and at most `len`.
///
/// # Errors
/// [`WriteError::Full`] if it took none; those of the sink.
#[cfg(feature = "embedded-io")]
pub(crate) fn taken<E>(outcome: Result<usize, E>, at: u64, len: usize) -> Result<usize, WriteError<E>> {
    match outcome {
        Ok(0) => Err(WriteError::Full { at }),
        Ok(taken) => Ok(taken.min(len)),
        Err(error) => Err(WriteError::Sink(error)),
    }
}

/// An error while writing: of the data given, of the sink, or a sink that takes no more.
///
/// *Memory*: 40 bytes, 32 where pointers have 32 bits, or somewhat more than that of `E` if that is more;
/// `Copy` if `E` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError<E> {
    /// An error of the caller or a buffer: see [`ErrorKind::class`](crate::ErrorKind::class).
    Format(Error),
    /// No file can be as it was described. Writers take a plan, so they never return this; it is for `?` in
    /// functions that describe and write.
    Spec(SpecError),
    /// The sink failed.
    Sink(E),
    /// The sink takes no more bytes, and reports no error.
    Full {
        /// The first byte of the file that it did not take.
        at: u64,
    },
}

impl<E> WriteError<E> {
    /// As [`Error::tensor_name`], also `None` for an error of the sink or of a description.
    pub fn tensor_name<'n>(&self, queries: &'n [impl AsRef<str>]) -> Option<&'n str> {
        match self {
            Self::Format(error) => error.tensor_name(queries),
            Self::Spec(_) | Self::Sink(_) | Self::Full { .. } => None,
        }
    }
}

impl<E> From<SpecError> for WriteError<E> {
    fn from(error: SpecError) -> Self {
        Self::Spec(error)
    }
}

impl<E> From<Error> for WriteError<E> {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}

sentences! {
    WriteError<E>:
    Self::Format(error) => "{}", error;
    Self::Spec(error) => "{}", error;
    Self::Sink(error) => "the file cannot be written: {}", error;
    Self::Full { at } => "the file cannot be written: no space left from byte {}", at;
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for WriteError<E> {}

#[cfg(all(test, feature = "embedded-io"))]
mod tests {
    use super::*;

    #[test]
    fn excess_count_of_sink_is_clamped() {
        assert_eq!(taken::<()>(Ok(9), 70, 5), Ok(5));
        assert_eq!(taken::<()>(Ok(4), 70, 5), Ok(4));
        assert_eq!(taken::<()>(Ok(0), 70, 5), Err(WriteError::Full { at: 70 }));
    }
}
