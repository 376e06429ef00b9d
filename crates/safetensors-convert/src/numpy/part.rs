//! A part of a file, read without a common cursor.

use embedded_safetensors::ReadAt;
use std::fs::File;
use std::io::{self, Read};

/// The bytes of a file from one place to another. Any number of parts of one file are read at the same time.
pub struct Part<'f> {
    file: &'f File,
    at: u64,
    end: u64,
}

impl<'f> Part<'f> {
    /// So many bytes of a file, from this one on.
    pub fn new(file: &'f File, at: u64, len: u64) -> Self {
        Self { file, at, end: at.saturating_add(len) }
    }
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let room = left.min(buffer.len());
        let len = (&mut { self.file }).read_at(self.at, &mut buffer[..room])?;
        self.at += len as u64;
        Ok(len)
    }
}

/// Reads until the buffer is full or nothing is left, and says how much that was.
pub fn read_full(source: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(len) => filled += len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
