//! A file on a server that several readers share.

use crate::error::RemoteError;
use crate::file::{RemoteFile, copy};
use crate::parallel::Mutex;
use crate::window::{GAP, Stretch, stretches};
use embedded_safetensors::ReadAt;
use embedded_safetensors::io::FileLen;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// How many open replies wait for their next read.
const LANES: usize = 32;

/// The bytes of small tensors that stay in memory at least: threads read them in nearly the same order, and
/// some a second time.
const KEPT: usize = 4 << 20;

/// A file on a server whose header is in memory, and which is read through a shared reference: while its
/// index is borrowed, and by several threads.
///
/// A read that continues an earlier one, up to 64 KiB after its end, comes from its open reply. Each thread
/// that reads in order gets a reply of its own. A reply ends
///
/// - for tensors of at most 256 KiB that were [announced](Self::expect), and follow each other with gaps of
///   at most 64 KiB, at the end of the last of them. They come from this one reply, whichever thread reads
///   them and in nearly any order;
/// - for a larger one that was announced, or if the caller knows it, at the end of the tensor;
/// - otherwise after 64 KiB, and after twice as much as the last one while the file is read on in sequence.
///
/// *Memory*: the header; 64 KiB for each thread; for announced small tensors at most 8 MiB, and 4 MiB after
/// the last of them has been read.
pub struct SharedFile {
    /// The file as it was opened, which reads nothing.
    opened: RemoteFile,
    /// The reader of a file on a server without ranges, which can only be read in sequence.
    first: Mutex<RemoteFile>,
    len_by_header: u64,
    lanes: Mutex<Vec<Lane>>,
    /// Tensors that were announced, and the reader of small ones.
    announced: Mutex<Vec<(Stretch, Option<Shared>)>>,
}

/// A reader, the offset of its next byte, and the end of what was announced to it.
struct Lane {
    file: RemoteFile,
    next: u64,
    end: u64,
}

/// A reader in use, which is put back.
struct Taken<'f> {
    lanes: &'f Mutex<Vec<Lane>>,
    lane: Option<Lane>,
}

type Shared = Arc<Mutex<Run>>;

/// Reads small tensors that follow each other, and keeps the last bytes.
struct Run {
    file: RemoteFile,
    end: u64,
    /// The offset of the first byte that is kept.
    start: u64,
    kept: Vec<u8>,
}

impl SharedFile {
    /// Reads bytes from this offset on, at most as many as fit, and returns how many: none at the end of the
    /// file. If the bytes up to `end` are going to be read in order, one request does for all of them.
    ///
    /// # Errors
    /// Those of the server and the connection.
    pub fn read(&self, offset: u64, buffer: &mut [u8], end: Option<u64>) -> Result<usize, RemoteError> {
        let left = self.opened.len().map_or(u64::MAX, |len| len.saturating_sub(offset));
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let buffer = buffer.get_mut(..wanted).unwrap_or_default();
        if !self.opened.has_ranges() || buffer.is_empty() {
            return self.first.lock().read(offset, buffer);
        }
        let known = usize::try_from(offset).ok().and_then(|offset| self.opened.beginning().get(offset..));
        if let Some(known) = known.filter(|known| !known.is_empty()) {
            return Ok(copy(buffer, known));
        }
        let (run, announced) = self.announced(offset);
        if let Some(run) = run {
            if let Some(read) = run.lock().read(offset, buffer)? {
                return Ok(read);
            }
        }
        self.read_alone(offset, buffer, end.or(announced))
    }

    /// Reads from a reply that no other thread uses.
    fn read_alone(&self, offset: u64, buffer: &mut [u8], end: Option<u64>) -> Result<usize, RemoteError> {
        let end = end.filter(|&end| end > offset).map_or(u64::MAX, |end| end.min(self.len_by_header));
        let mut taken = self.take(offset, end);
        let Some(lane) = &mut taken.lane else { return Ok(0) };
        if lane.distance(offset, end).is_none() {
            (lane.next, lane.end) = (offset, end);
            lane.file.expect(if end == u64::MAX { 0..0 } else { offset..end });
        }
        let read = lane.file.read(offset, buffer);
        match read {
            Ok(read) => lane.next = offset + read as u64,
            Err(_) => taken.lane = None,
        }
        read
    }

    /// Shares a file.
    pub fn new(file: RemoteFile) -> Self {
        let opened = file.another();
        let len = opened.len().or_else(|| opened.len_by_header().ok());
        let len_by_header = len.unwrap_or(opened.beginning().len() as u64);
        let (lanes, announced) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        Self { opened, first: Mutex::new(file), len_by_header, lanes, announced }
    }

    /// Returns the file as it was opened: its URL, its header, its length.
    pub fn opened(&self) -> &RemoteFile {
        &self.opened
    }

    /// Returns the length of the file; by its header, if the server does not tell it.
    pub fn len_by_header(&self) -> u64 {
        self.len_by_header
    }

    /// Announces the tensors that are going to be read, each a range of the file, in any order. It stays
    /// until the next call.
    pub fn expect(&self, tensors: impl IntoIterator<Item = Range<u64>>) {
        let known = self.opened.beginning().len() as u64;
        let all = stretches(tensors.into_iter().map(|tensor| tensor.start.max(known)..tensor.end).collect());
        *self.announced.lock() = all.into_iter().map(|stretch| (stretch, None)).collect();
    }

    /// The reader of the small tensors at this offset, or the end of the larger one.
    fn announced(&self, offset: u64) -> (Option<Shared>, Option<u64>) {
        let mut all = self.announced.lock();
        let at = all.partition_point(|(stretch, _)| stretch.range.end <= offset);
        match all.get_mut(at) {
            Some((Stretch { range, is_small: true }, run)) if range.contains(&offset) => {
                let new = || Arc::new(Mutex::new(Run::new(self.opened.another(), range.clone())));
                (Some(run.get_or_insert_with(new).clone()), None)
            }
            Some((stretch, _)) if stretch.range.contains(&offset) => (None, Some(stretch.range.end)),
            _ => (None, None),
        }
    }

    /// The reader that is nearest to this offset, or has read all that it was to read, or a new one.
    fn take(&self, offset: u64, end: u64) -> Taken<'_> {
        let mut lanes = self.lanes.lock();
        let near =
            lanes.iter().enumerate().filter_map(|(index, lane)| Some((lane.distance(offset, end)?, index)));
        let near = near.min().map(|(_, index)| index);
        let done = || lanes.iter().position(|lane| lane.next >= lane.end);
        let lane = match near.or_else(done) {
            Some(index) => lanes.swap_remove(index),
            None => Lane { file: self.opened.another(), next: 0, end: 0 },
        };
        Taken { lanes: &self.lanes, lane: Some(lane) }
    }
}

impl Lane {
    /// How many bytes a reader has to skip, if it can serve this offset without a request. It may skip a few,
    /// but none that were announced to another thread.
    fn distance(&self, offset: u64, end: u64) -> Option<u64> {
        if self.file.in_piece(offset).is_some() {
            return Some(0);
        }
        let is_ahead = (self.next..self.end).contains(&offset);
        let skipped = is_ahead.then(|| offset - self.next)?;
        (skipped == 0 || skipped < GAP && self.end == end).then_some(skipped)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut lanes = self.lanes.lock();
        if lanes.len() >= LANES {
            lanes.remove(0);
        }
        lanes.extend(self.lane.take());
    }
}

impl Run {
    fn new(mut file: RemoteFile, range: Range<u64>) -> Self {
        file.expect(range.clone());
        Self { file, end: range.end, start: range.start, kept: Vec::new() }
    }

    /// The offset of the next byte.
    fn next(&self) -> u64 {
        self.start + self.kept.len() as u64
    }

    /// The bytes that are kept from this offset on.
    fn kept(&self, offset: u64) -> &[u8] {
        let at = offset.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.kept.get(at..)).unwrap_or(&[])
    }

    /// If more than `most` bytes are kept, keeps only the last ones.
    fn forget(&mut self, most: usize) {
        if self.kept.len() > most {
            let surplus = self.kept.len() - KEPT;
            self.kept.drain(..surplus);
            self.kept.shrink_to(most);
            self.start += surplus as u64;
        }
    }

    /// Reads bytes as [`SharedFile::read`] does. Returns `None` if the offset is far from the others: before
    /// the bytes that are kept, or too far after them.
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<Option<usize>, RemoteError> {
        if offset < self.start {
            return Ok(None);
        }
        if self.kept.is_empty() && offset - self.start > KEPT as u64 {
            self.start = offset;
        }
        while offset >= self.next() {
            if offset - self.next() > KEPT as u64 {
                return Ok(None);
            }
            match self.file.next_bytes(self.next(), self.end - self.next()) {
                Ok([]) => return Ok(Some(0)),
                Ok(found) => self.kept.extend_from_slice(found),
                Err(error) => {
                    // The others need not wait for what has failed.
                    (self.start, self.kept) = (self.end, Vec::new());
                    return Err(error);
                }
            }
            self.forget(2 * KEPT);
        }
        if self.next() == self.end {
            self.file.finish()?;
        }
        let read = copy(buffer, self.kept(offset));
        if offset + read as u64 == self.end {
            self.forget(KEPT);
        }
        Ok(Some(read))
    }
}

impl ReadAt for &SharedFile {
    type Error = RemoteError;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, RemoteError> {
        self.read(offset, buffer, None)
    }

    fn file_len(&mut self) -> Result<FileLen, RemoteError> {
        Ok(self.opened.len().map_or(FileLen::Unknown, FileLen::Exactly))
    }
}

impl fmt::Debug for SharedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedFile").field(&self.opened).finish()
    }
}
