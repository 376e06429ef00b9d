//! Storage whose reads are counted.

use core::cell::Cell;
use core::ops::Range;
use embedded_safetensors::{ReadAt, io::FileLen};

/// Counts of reads.
#[derive(Debug, Default)]
pub struct Reads {
    calls: Cell<u32>,
    bytes: Cell<u64>,
    last_at: Cell<u64>,
}

impl Reads {
    /// Creates counts of zero.
    pub const fn new() -> Self {
        Self { calls: Cell::new(0), bytes: Cell::new(0), last_at: Cell::new(0) }
    }

    /// Returns the number of reads.
    pub const fn calls(&self) -> u32 {
        self.calls.get()
    }

    /// Returns the number of bytes read.
    pub const fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Returns the offset of the last read, whether it succeeded or not.
    pub const fn last_at(&self) -> u64 {
        self.last_at.get()
    }
}

/// A storage that counts its reads in shared counters.
#[derive(Debug)]
pub struct Counted<'r, S> {
    storage: S,
    reads: &'r Reads,
}

impl<'r, S> Counted<'r, S> {
    /// Creates a storage that adds to `reads`.
    pub const fn new(storage: S, reads: &'r Reads) -> Self {
        Self { storage, reads }
    }
}

impl<S: ReadAt> ReadAt for Counted<'_, S> {
    type Error = S::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, S::Error> {
        let all = 0..buffer.len();
        self.read_within(offset, buffer, all)
    }

    fn read_within(&mut self, offset: u64, memory: &mut [u8], part: Range<usize>) -> Result<usize, S::Error> {
        let Reads { calls, bytes, last_at } = self.reads;
        calls.set(calls.get().wrapping_add(1));
        last_at.set(offset);
        let len = self.storage.read_within(offset, memory, part)?;
        bytes.set(bytes.get() + len as u64);
        Ok(len)
    }

    fn file_len(&mut self) -> Result<FileLen, S::Error> {
        self.storage.file_len()
    }
}
