//! Kinds of `embedded_io` errors.

use super::{ReadError, WriteError};
use crate::error::Class;
use embedded_io::{Error, ErrorKind};

impl<E: Error> Error for ReadError<E> {
    /// Returns the storage's kind for its own errors; `InvalidData` for an invalid file or one that ends too
    /// early, `OutOfMemory` for a limit, `InvalidInput` for a caller's mistake.
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Source(error) => error.kind(),
            Self::UnexpectedEof { .. } => ErrorKind::InvalidData,
            Self::Format(error) => match error.kind.class() {
                Class::File => ErrorKind::InvalidData,
                Class::Limit => ErrorKind::OutOfMemory,
                Class::Usage => ErrorKind::InvalidInput,
            },
        }
    }
}

impl<E: Error> Error for WriteError<E> {
    /// Returns the sink's kind for its own errors; `WriteZero` if there is no space, `OutOfMemory` for a
    /// limit, `InvalidInput` for a caller's mistake.
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Sink(error) => error.kind(),
            Self::Full { .. } => ErrorKind::WriteZero,
            Self::Format(error) => by_class(error.kind.class()),
            Self::Spec(error) => by_class(error.kind.class()),
        }
    }
}

/// Repeats an operation while it is interrupted, and returns its outcome. Not a function that takes an async
/// closure: futures of such closures are not known to be `Send`.
macro_rules! uninterrupted {
    ($operation:expr) => {
        loop {
            match $operation {
                Err(error) if embedded_io::Error::kind(&error) == embedded_io::ErrorKind::Interrupted => {}
                outcome => break outcome,
            }
        }
    };
}
pub(crate) use uninterrupted;

fn by_class(class: Class) -> ErrorKind {
    match class {
        Class::Limit => ErrorKind::OutOfMemory,
        Class::File | Class::Usage => ErrorKind::InvalidInput,
    }
}
