//! A file on a server that threads share.

use embedded_safetensors::ReadAt;
use embedded_safetensors::io::FileLen;
use safetensors_remote::RemoteFile;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
pub const GAP: u64 = 64 << 10;

impl Remote {
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

    /// Reads from this offset on, at most so many bytes, and returns how many there are.
    ///
    /// # Errors
    /// Those of the server.
    pub fn count(&self, from: u64, most: u64) -> io::Result<u64> {
        let (mut file, mut buffer, mut counted) = (lock(&self.first), vec![0; 1 << 16], 0);
        while counted < most {
            match file.read_at(from + counted, &mut buffer)? {
                0 => break,
                read => counted += read as u64,
            }
        }
        Ok(counted.min(most))
    }

    /// Reads bytes, of which those up to `end` are going to be read in order. Then one request does for all.
    ///
    /// # Errors
    /// Those of the server.
    pub fn read(&self, offset: u64, buffer: &mut [u8], end: Option<u64>) -> io::Result<usize> {
        let left = self.len.map_or(u64::MAX, |len| len.saturating_sub(offset));
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let buffer = buffer.get_mut(..wanted).unwrap_or_default();
        if offset < self.known || !self.has_ranges || buffer.is_empty() {
            return Ok(lock(&self.first).read_at(offset, buffer)?);
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
    /// There is none, for this reason.
    Nothing(&'static str),
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

    /// A reader of nothing, for this reason.
    pub fn of_nothing(reason: &'static str) -> Self {
        Self { from: Storage::Nothing(reason), ahead: Ahead::Unknown }
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
            Storage::Remote(remote) => match remote.read(offset, buffer, self.ahead.end(offset))? {
                0 if !buffer.is_empty() && offset < remote.len_by_header => Err(io::Error::other(format!(
                    "it ends at byte {offset}, but has {} bytes by its header",
                    remote.len_by_header
                ))),
                read => Ok(read),
            },
            Storage::Nothing(reason) => Err(io::Error::other(reason)),
        }
    }

    fn file_len(&mut self) -> io::Result<FileLen> {
        Ok(match self.from {
            Storage::File(_, u64::MAX) | Storage::Nothing(_) => FileLen::Unknown,
            Storage::File(_, len) => FileLen::Exactly(len),
            Storage::Remote(remote) => FileLen::Exactly(remote.len_by_header),
        })
    }
}
