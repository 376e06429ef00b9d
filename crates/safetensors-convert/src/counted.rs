//! Counts the bytes that are written.

use std::io::{self, Write};

/// A sink that counts its bytes.
pub struct Counted<W> {
    /// The sink.
    pub sink: W,
    /// The bytes until now.
    pub count: u64,
}

impl<W: Write> Counted<W> {
    /// Creates a sink that has no bytes.
    pub fn new(sink: W) -> Self {
        Self { sink, count: 0 }
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.sink.write(bytes)?;
        self.count += len as u64;
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
