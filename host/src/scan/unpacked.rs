//! Bytes that are unpacked from a file: a limit, and a source that ends where it is damaged.

use safetensors_convert::error::beyond_limit;
use std::cell::Cell;
use std::io::{self, Read};

/// What a byte of a pickle counts: an opcode takes as long as unpacking some bytes.
pub const SCANNED: u64 = 8;

/// The number of bytes that may still be unpacked from a file, in all its entries and in all archives
/// within it; less, if they are scanned as pickles.
pub struct Left {
    most: u64,
    left: Cell<u64>,
}

impl Left {
    pub fn new(most: u64) -> Self {
        Self { most, left: Cell::new(most) }
    }

    /// Counts what is read from a source, each byte so many times.
    pub fn count<R>(&self, each: u64, source: R) -> Counted<'_, R> {
        Counted { source, left: self, each }
    }

    /// Counts this many bytes that are read from the file itself.
    ///
    /// # Errors
    /// Nothing is left.
    pub fn spend(&self, len: u64) -> io::Result<()> {
        self.left.set(self.left.get().saturating_sub(len));
        self.check()
    }

    /// Returns an error if nothing is left. To a scan, that is a problem of the entry, and not its error.
    ///
    /// # Errors
    /// Nothing is left.
    pub fn check(&self) -> io::Result<()> {
        if self.left.get() > 0 {
            return Ok(());
        }
        Err(beyond_limit(format!(
            "the archives unpack to {} bytes or more, beyond the limit; a byte that is scanned counts {SCANNED} \
             times",
            self.most
        )))
    }
}

/// A source whose bytes are counted.
pub struct Counted<'l, R> {
    source: R,
    left: &'l Left,
    /// What each byte counts.
    each: u64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.source.read(buffer)?;
        self.left.spend(len as u64 * self.each)?;
        Ok(len)
    }
}

/// A source that ends where it cannot be unpacked. Errors of the system and of limits stay.
pub struct Lenient<R>(pub R);

impl<R: Read> Read for Lenient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        self.0.read(buffer).or_else(|error| match error.kind() {
            InvalidData | InvalidInput | UnexpectedEof if error.raw_os_error().is_none() => Ok(0),
            _ => Err(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Left, Lenient};
    use std::io::{self, ErrorKind, Read};

    struct Fails(fn() -> io::Error);

    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err((self.0)())
        }
    }

    #[test]
    fn only_damage_is_the_end() {
        let is_end = |error| Lenient(Fails(error)).read(&mut [0]).is_ok_and(|len| len == 0);
        assert!(is_end(|| ErrorKind::InvalidInput.into()) && is_end(|| ErrorKind::UnexpectedEof.into()));
        assert!(
            !is_end(|| ErrorKind::PermissionDenied.into()) && !is_end(|| io::Error::from_raw_os_error(22))
        );
        assert!(!is_end(|| Left::new(0).check().unwrap_err()));
    }
}
