//! Kinds of `embedded_io` errors.

use super::{ReadError, WriteError};
use crate::error::Blame;
use embedded_io::{Error, ErrorKind};

impl<E: Error> Error for ReadError<E> {
    /// What the storage says of its own errors; `InvalidData` for a bad file or one that ends too early,
    /// `OutOfMemory` for a limit, `InvalidInput` for a caller's mistake.
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Source(error) => error.kind(),
            Self::UnexpectedEof { .. } => ErrorKind::InvalidData,
            Self::Format(error) => match error.kind.blame() {
                Blame::File => ErrorKind::InvalidData,
                Blame::Limit => ErrorKind::OutOfMemory,
                Blame::Usage => ErrorKind::InvalidInput,
            },
        }
    }
}

impl<E: Error> Error for WriteError<E> {
    /// What the sink says of its own errors; `WriteZero` where there is no room, `OutOfMemory` for a limit, `InvalidInput` for a
    /// caller's mistake.
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Sink(error) => error.kind(),
            Self::Full { .. } => ErrorKind::WriteZero,
            Self::Format(error) => blamed(error.kind.blame()),
            Self::Spec(error) => blamed(error.fault.blame()),
        }
    }
}

fn blamed(blame: Blame) -> ErrorKind {
    match blame {
        Blame::Limit => ErrorKind::OutOfMemory,
        Blame::File | Blame::Usage => ErrorKind::InvalidInput,
    }
}
