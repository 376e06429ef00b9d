//! Errors about the contents of a file.

use std::io;

/// Returns an error about the contents of a file, with this sentence; all other errors come from the
/// system.
pub fn unsound(sentence: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, sentence.into())
}

/// Returns an error about a limit of this library that the contents of a file exceed.
pub fn beyond_limit(sentence: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::QuotaExceeded, sentence.into())
}
