//! A file on a server that threads share.

use embedded_safetensors::ReadAt;
use embedded_safetensors::io::FileLen;
use embedded_safetensors::validate::{Progress, SortSlot, Validator};
use safetensors_remote::RemoteFile;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The memory to sort the tensors of a header with.
const SLOTS: usize = 256;
/// How many open replies wait for their next read.
const LANES: usize = 32;

/// A file on a server, whose header is in memory. Threads can read it at the same time, each from a reply of
/// its own.
pub struct Remote {
    first: Mutex<RemoteFile>,
    /// The bytes that the first reader has in memory.
    known: u64,
    /// Without ranges there is only one reader, which reads in sequence.
    has_ranges: bool,
    len: u64,
    lanes: Mutex<Vec<Lane>>,
}

/// A reader, the offset of its next byte, and the end of what was announced to it.
struct Lane {
    file: RemoteFile,
    next: u64,
    end: u64,
}

impl Lane {
    /// How far a reader has to skip: nothing is better than a little, and that is better than a new request.
    /// Bytes that were announced to another thread are not skipped.
    fn distance(&self, offset: u64, end: u64) -> Option<u64> {
        let is_ahead = (self.next..self.end).contains(&offset);
        let skipped = is_ahead.then(|| offset - self.next)?;
        (skipped == 0 || skipped < GAP && self.end == end).then_some(skipped)
    }
}

/// Bytes that are read and skipped rather than requested again.
pub const GAP: u64 = 64 << 10;

impl Remote {
    pub fn new(file: RemoteFile) -> Self {
        let len = file.len().unwrap_or_else(|| len_by_header(file.header()));
        let (known, has_ranges) = (file.beginning().len() as u64, file.has_ranges());
        Self { first: Mutex::new(file), known, has_ranges, len, lanes: Mutex::default() }
    }

    /// The length of the file; by its header, if the server does not tell it.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the server sends parts of the file.
    pub fn has_ranges(&self) -> bool {
        self.has_ranges
    }

    /// Reads bytes, of which those up to `end` are going to be read in order. Then one request does for all.
    ///
    /// # Errors
    /// Those of the server.
    pub fn read(&self, offset: u64, buffer: &mut [u8], end: Option<u64>) -> io::Result<usize> {
        let wanted = buffer.len().min(usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX));
        let buffer = buffer.get_mut(..wanted).unwrap_or_default();
        if offset < self.known || !self.has_ranges || buffer.is_empty() {
            return Ok(lock(&self.first).read_at(offset, buffer)?);
        }
        let end = end.filter(|&end| end > offset).map_or(u64::MAX, |end| end.min(self.len));
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

/// The length that a file has according to its header. Of an invalid one, that of the header.
fn len_by_header(header: &[u8]) -> u64 {
    let mut slots = [SortSlot::EMPTY; SLOTS];
    let mut validator = Validator::new(None, &mut slots);
    while let Ok(Progress::Rewind) = validator.push(&mut &*header) {}
    validator.summary().map_or(header.len() as u64, |summary| summary.file_len())
}

/// A file that threads share, on a disk or on a server.
pub enum Handle {
    File(File),
    Remote(Arc<Remote>),
}

/// Reads a shared file at any offset.
#[derive(Clone, Copy)]
pub struct Reader<'f> {
    from: Storage<'f>,
    ahead: Ahead<'f>,
}

#[derive(Clone, Copy)]
enum Storage<'f> {
    File(&'f File, u64),
    Remote(&'f Remote),
}

/// What will be read after an offset.
#[derive(Clone, Copy)]
enum Ahead<'f> {
    Unknown,
    /// Everything up to this offset.
    Until(u64),
    /// These bytes.
    Within(&'f [Range<u64>]),
}

impl Ahead<'_> {
    /// The end of what is read in order from an offset on.
    fn end(self, offset: u64) -> Option<u64> {
        match self {
            Self::Unknown => None,
            Self::Until(end) => Some(end),
            Self::Within(runs) => {
                let run = runs.get(runs.partition_point(|run| run.end <= offset))?;
                run.contains(&offset).then_some(run.end)
            }
        }
    }
}

impl<'f> Reader<'f> {
    /// A reader of a local file of this length.
    pub fn of_file(file: &'f File, len: u64) -> Self {
        Self { from: Storage::File(file, len), ahead: Ahead::Unknown }
    }

    pub fn of_remote(remote: &'f Remote) -> Self {
        Self { from: Storage::Remote(remote), ahead: Ahead::Unknown }
    }

    /// Announces that everything up to this offset is read in order.
    pub fn until(self, end: u64) -> Self {
        Self { ahead: Ahead::Until(end), ..self }
    }

    /// Announces that these bytes are read, each run in order.
    pub fn within<'r>(self, runs: &'r [Range<u64>]) -> Reader<'r>
    where
        'f: 'r,
    {
        Reader { from: self.from, ahead: Ahead::Within(runs) }
    }
}

impl Handle {
    /// Reads a range in order.
    pub fn reader(&self, range: &Range<u64>) -> Reader<'_> {
        match self {
            Self::File(file) => Reader::of_file(file, u64::MAX),
            Self::Remote(remote) => Reader::of_remote(remote).until(range.end),
        }
    }
}

impl ReadAt for Reader<'_> {
    type Error = io::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self.from {
            Storage::File(mut file, _) => ReadAt::read_at(&mut file, offset, buffer),
            Storage::Remote(remote) => remote.read(offset, buffer, self.ahead.end(offset)),
        }
    }

    fn file_len(&mut self) -> io::Result<FileLen> {
        Ok(match self.from {
            Storage::File(_, u64::MAX) => FileLen::Unknown,
            Storage::File(_, len) => FileLen::Exactly(len),
            Storage::Remote(remote) => FileLen::Exactly(remote.len()),
        })
    }
}
