//! What can go wrong where a file is written.

use crate::error::spec::SpecError;
use crate::error::{Error, ErrorKind};
use core::fmt;

/// The length of the header's length. As long as it is [`ERASED`], no reader takes the file for one.
pub(crate) const PREFIX: usize = 8;

/// What no header can be as long as.
pub(crate) const ERASED: [u8; PREFIX] = [0xFF; PREFIX];

/// Bytes behind its tensors make a file unsound.
///
/// # Errors
/// [`ErrorKind::Longer`].
pub(crate) fn refuse_longer<E>(len: u64, file_len: u64) -> Result<(), WriteError<E>> {
    match len > file_len {
        true => Err(ErrorKind::Longer { len, file_len }.at(file_len).into()),
        false => Ok(()),
    }
}

/// What a call took that was to take one byte at least and `len` at most.
///
/// # Errors
/// [`WriteError::Full`] where it took none; those of the sink.
#[cfg(feature = "embedded-io")]
pub(crate) fn taken<E>(outcome: Result<usize, E>, at: u64, len: usize) -> Result<usize, WriteError<E>> {
    match outcome {
        Ok(0) => Err(WriteError::Full { at }),
        Ok(taken) => Ok(taken.min(len)),
        Err(error) => Err(WriteError::Sink(error)),
    }
}

/// Why something could not be written: the data that were given, the place they go to, or that it takes no more.
///
/// *Memory*: 40 bytes, 32 where pointers have 32 bits, or somewhat more than `E` takes if that is more; `Copy` if `E` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError<E> {
    /// What the caller or the memory is at fault for: see [`ErrorKind::class`](crate::ErrorKind::class).
    Format(Error),
    /// There can be no file as it was described. No writer says so, who is given a plan; it is for `?` in functions that describe
    /// and write.
    Spec(SpecError),
    /// What the file is written to has failed.
    Sink(E),
    /// What the file is written to takes no more bytes, and says of no error.
    Full {
        /// The first byte of the file that it did not take.
        at: u64,
    },
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
    Self::Full { at } => "the file cannot be written: there is no room from byte {} on", at;
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for WriteError<E> {}

#[cfg(all(test, feature = "embedded-io"))]
mod tests {
    use super::*;

    #[test]
    fn a_sink_that_claims_too_much_has_taken_all() {
        assert_eq!(taken::<()>(Ok(9), 70, 5), Ok(5));
        assert_eq!(taken::<()>(Ok(4), 70, 5), Ok(4));
        assert_eq!(taken::<()>(Ok(0), 70, 5), Err(WriteError::Full { at: 70 }));
    }
}
