//! A wire whose bytes are checked.

use embedded_io::{ErrorKind, ErrorType, Write};

/// A sink that accepts only the bytes of one file.
pub struct Wire {
    expected: &'static [u8],
}

impl Wire {
    /// Creates a sink that expects this file.
    pub fn new(file: &'static [u8]) -> Self {
        Self { expected: file }
    }
}

impl ErrorType for Wire {
    type Error = ErrorKind;
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        self.expected = self.expected.strip_prefix(bytes).ok_or(ErrorKind::InvalidData)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}
