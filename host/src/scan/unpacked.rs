//! Bytes that are unpacked from a file: a limit, and what ends where it is damaged.

use safetensors_convert::error::beyond_limit;
use std::cell::Cell;
use std::io::{self, Read};

/// How many times its own length a file may unpack to, ...
const RATIO: u64 = 64;
/// ... unless that is less than this.
const ALWAYS: u64 = 1 << 30;

/// The number of bytes that may still be unpacked from a file, in all its entries and in all archives
/// within it.
pub struct Left(Cell<u64>);

impl Left {
    /// For a file of this length.
    pub fn of(len: u64) -> Self {
        Self::new(len.saturating_mul(RATIO).max(ALWAYS))
    }

    pub fn new(bytes: u64) -> Self {
        Self(Cell::new(bytes))
    }

    /// Counts what is read from this source.
    pub fn counted<R>(&self, source: R) -> Counted<'_, R> {
        Counted { source, left: self }
    }

    /// Returns an error if nothing is left. A scan takes an error of its source as the end.
    ///
    /// # Errors
    /// Nothing is left.
    pub fn check(&self) -> io::Result<()> {
        match self.0.get() {
            0 => Err(beyond_limit(format!(
                "the archives unpack to more than {ALWAYS} bytes, and to more than {RATIO} times the file's length"
            ))),
            _ => Ok(()),
        }
    }
}

/// A source whose bytes are counted.
pub struct Counted<'l, R> {
    source: R,
    left: &'l Left,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.source.read(buffer)?;
        self.left.0.set(self.left.0.get().saturating_sub(len as u64));
        self.left.check()?;
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
    use std::io::{self, Read};

    struct Fails(fn() -> io::Error);

    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err((self.0)())
        }
    }

    #[test]
    fn only_damage_is_the_end() {
        let read = |error| Lenient(Fails(error)).read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(read(|| io::ErrorKind::InvalidInput.into()).expect("the end"), 0);
        assert_eq!(read(|| io::ErrorKind::UnexpectedEof.into()).expect("the end"), 0);
        assert!(read(|| io::ErrorKind::PermissionDenied.into()).is_err());
        assert!(read(|| io::Error::from_raw_os_error(22)).is_err());
        let left = Left::new(3);
        assert_eq!(left.counted(&[1, 2][..]).read(&mut [0; 4]).expect("few"), 2);
        assert!(Lenient(left.counted(&[1, 2][..])).read(&mut [0; 4]).is_err());
        assert!(left.check().is_err());
    }
}
