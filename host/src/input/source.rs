//! A file that can be read repeatedly, one piece at a time, whatever its source.

use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::input::remote;
use embedded_safetensors::{ReadAt, header::MAX_HEADER_LEN, io::FileLen};
use safetensors_remote::SharedFile;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use tempfile::{SpooledData, SpooledTempFile};

/// Bytes read at a time.
pub const BUFFER: usize = 64 * 1024;

/// The treatment of the data after the header of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Only its length is counted.
    Count,
    /// It is kept for later.
    Keep,
}

/// A file whose header, at least, can be read at any offset.
pub struct Source {
    store: Store,
    len: Option<u64>,
    /// The end of the header. Reads do not cross it.
    header_end: u64,
}

enum Store {
    File {
        file: File,
        stamp: Stamp,
    },
    /// The beginning of a stream, and the rest of it.
    Stream {
        spool: SpooledTempFile,
        rest: Box<dyn Read>,
    },
    Remote(Arc<SharedFile>),
}

/// Detects that another process wrote to a file.
#[derive(PartialEq, Eq)]
pub struct Stamp {
    pub len: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    pub fn of(metadata: &Metadata) -> Self {
        Self { len: metadata.len(), modified: metadata.modified().ok() }
    }
}

impl Source {
    /// A regular file, read from its beginning.
    pub fn file(file: File, metadata: &Metadata) -> Result<Self, NotRead> {
        let stamp = Stamp::of(metadata);
        Self::of(Some(stamp.len), Store::File { file, stamp })
    }

    /// A file on a server.
    pub fn of_remote(file: Arc<SharedFile>) -> Result<Self, NotRead> {
        Self::of(file.opened().len(), Store::Remote(file))
    }

    /// A source that can be read only once. Reads its header.
    pub fn stream(rest: Box<dyn Read>) -> Result<Self, NotRead> {
        Self::of(None, Store::Stream { spool: SpooledTempFile::new(BUFFER), rest })
    }

    /// Finds the end of the header.
    fn of(len: Option<u64>, store: Store) -> Result<Self, NotRead> {
        let mut source = Self { store, len, header_end: 8 };
        source.fill_store(0, 8, Data::Keep)?;
        if let Ok(length) = source.read_up_to(0, 8)?.try_into() {
            // If the header length exceeds the limit, only that length is read.
            let length = Some(u64::from_le_bytes(length)).filter(|&length| length <= MAX_HEADER_LEN);
            source.header_end = 8 + length.unwrap_or(0);
            source.fill_store(8, source.header_end - 8, Data::Keep)?;
        }
        Ok(source)
    }

    /// Whether the file has a header length within the limit of the format.
    pub fn has_header(&self) -> bool {
        self.header_end > 8
    }

    /// The header with the 8 bytes of its length, if the file has a complete one.
    pub fn header(&mut self) -> io::Result<Option<Vec<u8>>> {
        // A file too short for a length is short.
        let end = self.header_end().unwrap_or(u64::MAX);
        let is_complete = end <= MAX_HEADER_LEN + 8 && self.len.is_some_and(|len| end <= len);
        let header = if is_complete { self.read_up_to(0, end)? } else { Vec::new() };
        Ok((is_complete && header.len() as u64 == end).then_some(header))
    }

    /// The end of the header, by its length.
    pub fn header_end(&mut self) -> io::Result<u64> {
        let length = self.read_range(0..8)?.try_into().unwrap_or_default();
        Ok(u64::from_le_bytes(length).saturating_add(8))
    }

    /// Reads all of these bytes.
    ///
    /// # Errors
    /// Those of the system; the file ends too early.
    pub fn read_range(&mut self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let wanted = range.end.saturating_sub(range.start);
        let bytes = self.read_up_to(range.start, wanted)?;
        if bytes.len() as u64 == wanted { Ok(bytes) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }

    /// The number of spaces at the end of the header.
    pub fn header_room(&mut self) -> Result<u64, NotRead> {
        let (end, mut room) = (self.header_end()?, 0);
        loop {
            let from = (end - room).saturating_sub(BUFFER as u64).max(8);
            let piece = self.read_up_to(from, end - room - from)?;
            let spaces = piece.iter().rev().take_while(|&&byte| byte == b' ').count();
            room += spaces as u64;
            if spaces < piece.len() || piece.is_empty() {
                return Ok(room);
            }
        }
    }

    /// Reads at most this many bytes: of a file whatever it contains, of a stream those that are stored.
    ///
    /// # Errors
    /// Those of the system.
    pub fn read_up_to(&mut self, position: u64, wanted: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(wanted).unwrap_or(0)];
        let mut len = 0;
        while len < bytes.len() {
            match self.read_at(position + len as u64, &mut bytes[len..])?.len() {
                0 => break,
                read => len += read,
            }
        }
        bytes.truncate(len);
        Ok(bytes)
    }

    /// Whether it is a local file.
    pub fn is_file(&self) -> bool {
        matches!(self.store, Store::File { .. })
    }

    /// The source, and a second handle of its file. The kept part of a stream becomes an unnamed file; a
    /// server has none.
    pub fn share_file(self) -> Result<(Self, File), NotRead> {
        let mut spool = match self.store {
            Store::Remote(_) => return Err(NotRead::because("it is on a server")),
            Store::File { ref file, .. } => {
                let handle = file.try_clone()?;
                return Ok((self, handle));
            }
            Store::Stream { spool, .. } => spool,
        };
        spool.roll().map_err(|error| NotRead::not_buffered(&error, None))?;
        match spool.into_inner() {
            SpooledData::OnDisk(file) => Ok((Self::file(file.try_clone()?, &file.metadata()?)?, file)),
            SpooledData::InMemory(_) => Err(NotRead::because("no temporary file holds it")),
        }
    }

    /// Takes the length from the header if the server does not tell it, because its data is going to be read.
    pub fn trust_header(&mut self) {
        if let Store::Remote(file) = &self.store {
            self.len = Some(file.len_by_header());
        }
    }

    /// The length of the file; of a stream, unknown until its end.
    pub fn len(&self) -> Option<u64> {
        self.len
    }

    /// Reads the data after the header of a stream, or of a file on a server that does not tell its length,
    /// which is known afterwards. Stops one byte after `expected`, which shows that the data is too long.
    pub fn read_data(&mut self, data_start: u64, expected: u64, data: Data) -> Result<(), NotRead> {
        let limit = expected.saturating_add(1);
        let taken = match (&self.store, data) {
            (Store::Remote(file), Data::Count) => remote::count(file, data_start, limit)?,
            // It is going to be read, which is possible only once.
            (Store::Remote(_), Data::Keep) => expected,
            _ => self.fill_store(data_start, limit, data)?,
        };
        self.len = Some(data_start.saturating_add(taken));
        Ok(())
    }

    /// Moves up to `limit` bytes from the stream to the end of the store, at `start`. If the stream ends
    /// before that, sets its length.
    fn fill_store(&mut self, start: u64, limit: u64, data: Data) -> Result<u64, NotRead> {
        let Store::Stream { spool, rest } = &mut self.store else { return Ok(0) };
        spool.seek(SeekFrom::Start(start))?;
        let (mut buffer, mut taken) = (vec![0; BUFFER], 0);
        while taken < limit {
            let wanted = usize::try_from(limit - taken).unwrap_or(BUFFER).min(BUFFER);
            let read = uninterrupted(|| rest.read(&mut buffer[..wanted]))?;
            if read == 0 {
                self.len = Some(start + taken);
                break;
            }
            if data == Data::Keep {
                let written = spool.write_all(&buffer[..read]);
                let copied = spool.is_rolled().then_some(start + taken);
                written.map_err(|error| NotRead::not_buffered(&error, copied))?;
            }
            taken += read as u64;
        }
        Ok(taken)
    }

    /// Reads the bytes at `position` into the front of `buffer`, at least one if there are any. Never reads
    /// data together with the header.
    pub fn read_at<'b>(&mut self, position: u64, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
        let room = self.header_end.checked_sub(position).and_then(|left| usize::try_from(left).ok());
        let room = room.filter(|&left| left > 0).map_or(buffer.len(), |left| left.min(buffer.len()));
        let buffer = &mut buffer[..room];
        let read = match &mut self.store {
            Store::File { file, .. } => uninterrupted(|| ReadAt::read_at(file, position, buffer))?,
            Store::Stream { spool, .. } => {
                spool.seek(SeekFrom::Start(position))?;
                uninterrupted(|| spool.read(buffer))?
            }
            Store::Remote(file) => file.read(position, buffer, None)?,
        };
        Ok(&buffer[..read])
    }

    /// Whether a file is still the one that was opened. The stored part of a stream cannot change.
    pub fn check_unchanged(&self) -> Result<(), NotRead> {
        match &self.store {
            Store::File { file, stamp } if Stamp::of(&file.metadata()?) != *stamp => Err(NotRead::changed()),
            _ => Ok(()),
        }
    }
}

impl ReadAt for Source {
    type Error = io::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Self::read_at(self, offset, buffer).map(|piece| piece.len())
    }

    fn file_len(&mut self) -> io::Result<FileLen> {
        Ok(self.len.map_or(FileLen::Unknown, FileLen::Exactly))
    }
}

/// Reads a range of the file of this path, one buffer at a time, and passes it to `take`. The file was long
/// enough for it.
///
/// # Errors
/// Those of the file, which has changed if it ends too early, and those of `take`.
pub fn each_piece(
    path: &Path,
    mut file: impl ReadAt<Error = io::Error>,
    mut range: Range<u64>,
    buffer: &mut [u8],
    mut take: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    while !range.is_empty() {
        let wanted = usize::try_from(range.end - range.start).unwrap_or(usize::MAX).min(buffer.len());
        let read = uninterrupted(|| file.read_at(range.start, &mut buffer[..wanted]));
        match read.map_err(|error| Error::not_read(path, error))? {
            0 => return Err(Error::not_read(path, NotRead::changed())),
            read => {
                take(&buffer[..read])?;
                range.start += read as u64;
            }
        }
    }
    Ok(())
}

fn uninterrupted(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}
