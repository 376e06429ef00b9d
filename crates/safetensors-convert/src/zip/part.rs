//! Reads a part of a file without moving the file's cursor.

use crate::error::ensure;
use embedded_safetensors::ReadAt;
use std::fs::File;
use std::io::{self, Read};

/// A range of a file's bytes. Any number of parts of a file can be read at the same time.
pub struct Part<'f> {
    file: &'f File,
    at: u64,
    end: u64,
}

impl<'f> Part<'f> {
    /// Creates a reader of `len` bytes from `at`.
    pub fn new(file: &'f File, at: u64, len: u64) -> Self {
        Self { file, at, end: at.saturating_add(len) }
    }
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let most = left.min(buffer.len());
        let len = (&mut { self.file }).read_at(self.at, &mut buffer[..most])?;
        self.at += len as u64;
        Ok(len)
    }
}

/// A part of a file that must have all of its bytes, also later.
pub struct Exact<'f> {
    part: Part<'f>,
    /// The number of bytes that were not read.
    pub left: u64,
}

impl<'f> Exact<'f> {
    /// Creates a reader of `len` bytes from `at`.
    pub fn new(file: &'f File, at: u64, len: u64) -> Self {
        Self { part: Part::new(file, at, len), left: len }
    }
}

impl Read for Exact<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.part.read(buffer)?;
        let has_ended = len == 0 && self.left > 0 && !buffer.is_empty();
        ensure(!has_ended, || "the file has become shorter while it was read")?;
        self.left = self.left.saturating_sub(len as u64);
        Ok(len)
    }
}

/// Reads until the buffer is full or the source ends, and returns the number of bytes read.
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
