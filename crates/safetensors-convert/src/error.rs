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

/// Returns an error about the contents of a file, with this sentence, unless something holds.
pub fn ensure<S: Into<String>>(holds: bool, sentence: impl FnOnce() -> S) -> io::Result<()> {
    if holds { Ok(()) } else { Err(unsound(sentence())) }
}

/// The same for an error about a limit.
pub fn ensure_within<S: Into<String>>(holds: bool, sentence: impl FnOnce() -> S) -> io::Result<()> {
    if holds { Ok(()) } else { Err(beyond_limit(sentence())) }
}

/// Adds the place, or the format, to an error about the contents of a file; all other errors stay.
pub fn within(place: &str, error: io::Error) -> io::Error {
    match error.kind() {
        kind @ (io::ErrorKind::InvalidData | io::ErrorKind::QuotaExceeded)
            if error.raw_os_error().is_none() =>
        {
            io::Error::new(kind, format!("{place}: {error}"))
        }
        _ => error,
    }
}
