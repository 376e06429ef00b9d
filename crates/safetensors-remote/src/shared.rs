//! A file on a server that threads share.

use crate::error::RemoteError;
use crate::file::RemoteFile;
use embedded_safetensors::ReadAt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many open replies wait for their next read.
const LANES: usize = 32;

/// A file on a server, whose header is in memory. Threads can read it at the same time, each from a reply of
/// its own.
pub struct SharedFile {
    first: Mutex<RemoteFile>,
    /// The bytes that the first reader has in memory.
    known: u64,
    /// Without ranges there is only one reader, which reads in sequence.
    has_ranges: bool,
    /// The length, if the server tells it.
    len: Option<u64>,
    len_by_header: u64,
    lanes: Mutex<Vec<Lane>>,
}

/// A reader, the offset of its next byte, and the end of what was announced to it.
struct Lane {
    file: RemoteFile,
    next: u64,
    end: u64,
}

impl Lane {
    /// How many bytes a reader has to skip, if it can serve this offset without a request. It may skip a few,
    /// but none that were announced to another thread.
    fn distance(&self, offset: u64, end: u64) -> Option<u64> {
        let is_ahead = (self.next..self.end).contains(&offset);
        let skipped = is_ahead.then(|| offset - self.next)?;
        (skipped == 0 || skipped < GAP && self.end == end).then_some(skipped)
    }
}

/// Bytes that are read and skipped rather than requested again.
const GAP: u64 = 64 << 10;

impl SharedFile {
    /// Shares a file.
    pub fn new(file: RemoteFile) -> Self {
        let (known, has_ranges, len) = (file.beginning().len() as u64, file.has_ranges(), file.len());
        let len_by_header = len.or_else(|| file.len_by_header().ok()).unwrap_or(known);
        Self { first: Mutex::new(file), known, has_ranges, len, len_by_header, lanes: Mutex::default() }
    }

    /// The length of the file, if the server tells it.
    pub fn len(&self) -> Option<u64> {
        self.len
    }

    /// The length of the file; by its header, if the server does not tell it.
    pub fn len_by_header(&self) -> u64 {
        self.len_by_header
    }

    /// Whether the file can be read at any offset. Otherwise, if it is long, only in sequence and once.
    pub fn has_ranges(&self) -> bool {
        self.has_ranges
    }

    /// Reads bytes, of which those up to `end` are going to be read in order. Then one request does for all.
    ///
    /// # Errors
    /// Those of the server.
    pub fn read(&self, offset: u64, buffer: &mut [u8], end: Option<u64>) -> Result<usize, RemoteError> {
        let left = self.len.map_or(u64::MAX, |len| len.saturating_sub(offset));
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let buffer = buffer.get_mut(..wanted).unwrap_or_default();
        if offset < self.known || !self.has_ranges || buffer.is_empty() {
            return lock(&self.first).read_at(offset, buffer);
        }
        let end = end.filter(|&end| end > offset).map_or(u64::MAX, |end| end.min(self.len_by_header));
        let mut lane = self.lane(offset, end);
        if lane.distance(offset, end).is_none() {
            lane.end = end;
            lane.file.expect(if end == u64::MAX { 0..0 } else { offset..end });
        }
        // After an error the reader is dropped.
        let read = lane.file.read_at(offset, buffer)?;
        lane.next = offset + read as u64;
        let mut lanes = lock(&self.lanes);
        if lanes.len() >= LANES {
            lanes.remove(0);
        }
        lanes.push(lane);
        Ok(read)
    }

    /// The reader that is nearest to this offset, or has read all that it was to read, or a new one.
    fn lane(&self, offset: u64, end: u64) -> Lane {
        let mut lanes = lock(&self.lanes);
        let near =
            lanes.iter().enumerate().filter_map(|(index, lane)| Some((lane.distance(offset, end)?, index)));
        let near = near.min().map(|(_, index)| index);
        let done = || lanes.iter().position(|lane| lane.next >= lane.end);
        match near.or_else(done) {
            Some(index) => lanes.swap_remove(index),
            None => Lane { file: lock(&self.first).another(), next: 0, end: 0 },
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
