//! A file that can be read repeatedly, one piece at a time, whatever its source.

use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::input::remote::Remote;
use embedded_safetensors::{ReadAt, header::MAX_HEADER_LEN, io::FileLen};
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

/// A file of which at least the header can be read at any offset.
pub struct Source {
    store: Store,
    /// The position of the store's cursor.
    cursor: u64,
    len: Option<u64>,
    /// The end of the header. Reads do not cross it.
    header_end: u64,
    /// Another handle may move the cursor.
    is_shared: bool,
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
    Remote(Arc<Remote>),
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
        // `u64::MAX` is never a position, so the first read seeks.
        let (len, cursor) = (Some(stamp.len), u64::MAX);
        let store = Store::File { file, stamp };
        Self { store, cursor, len, header_end: 8, is_shared: false }.with_header()
    }

    /// A file on a server.
    pub fn of_remote(file: Arc<Remote>) -> Result<Self, NotRead> {
        let len = file.len();
        let store = Store::Remote(file);
        Self { store, cursor: 0, len, header_end: 8, is_shared: false }.with_header()
    }

    /// Finds the end of the header.
    fn with_header(self) -> Result<Self, NotRead> {
        let mut source = self;
        let prefix = source.read_up_to(0, 8)?;
        if let Ok(prefix) = <[u8; 8]>::try_from(&prefix[..]) {
            // If the header length exceeds the limit, only that length is read.
            let length = Some(u64::from_le_bytes(prefix)).filter(|&length| length <= MAX_HEADER_LEN);
            source.header_end = 8 + length.unwrap_or(0);
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

    /// The first bytes, at most this many: of a file whatever it contains, of a stream those that are stored.
    ///
    /// # Errors
    /// Those of the system.
    pub fn beginning(&mut self, most: u64) -> io::Result<Vec<u8>> {
        self.read_up_to(0, most)
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

    fn read_up_to(&mut self, position: u64, wanted: u64) -> io::Result<Vec<u8>> {
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

    /// A source that can be read only once. Reads its header.
    pub fn stream(rest: Box<dyn Read>) -> Result<Self, NotRead> {
        let spool = SpooledTempFile::new(BUFFER);
        let store = Store::Stream { spool, rest };
        let mut source = Self { store, cursor: 0, len: None, header_end: 0, is_shared: false };
        if source.fill_store(8, Data::Keep)? < 8 {
            return Ok(source);
        }
        let mut length = [0; 8];
        source.read_at(0, &mut length)?;
        // If the header length exceeds the limit, only that length is read.
        let length = u64::from_le_bytes(length);
        if length <= MAX_HEADER_LEN {
            source.cursor = source.seek(8)?;
            source.fill_store(length, Data::Keep)?;
        }
        Ok(source)
    }

    /// Whether it can be read only once.
    pub fn is_stream(&self) -> bool {
        matches!(self.store, Store::Stream { .. })
    }

    /// Whether it is a local file.
    pub fn is_file(&self) -> bool {
        matches!(self.store, Store::File { .. })
    }

    /// The source, and a second handle of its file. A stream becomes an unnamed file; a server has none.
    pub fn share_file(self) -> Result<(Self, File), NotRead> {
        if let Store::File { file, .. } = &self.store {
            let handle = file.try_clone()?;
            return Ok((Self { is_shared: true, ..self }, handle));
        }
        let file = self.into_file()?;
        let (handle, metadata) = (file.try_clone()?, file.metadata()?);
        Ok((Self { is_shared: true, ..Self::file(file, &metadata)? }, handle))
    }

    /// Takes the length from the header if the server does not tell it, because its data is going to be read.
    pub fn trust_header(&mut self) {
        if let Store::Remote(file) = &self.store {
            self.len = Some(file.len_by_header());
        }
    }

    /// The file, or the kept part of a stream as an unnamed file.
    fn into_file(self) -> Result<File, NotRead> {
        match self.store {
            Store::Remote(_) => Err(NotRead::because("it is on a server")),
            Store::File { file, .. } => Ok(file),
            Store::Stream { mut spool, .. } => {
                spool.roll().map_err(|error| NotRead::not_buffered(&error, None))?;
                match spool.into_inner() {
                    SpooledData::OnDisk(file) => Ok(file),
                    SpooledData::InMemory(_) => Err(NotRead::because("no temporary file holds it")),
                }
            }
        }
    }

    /// The length of the file; of a stream, unknown until its end.
    pub fn len(&self) -> Option<u64> {
        self.len
    }

    /// Reads the data after the header of a stream, or of a file on a server that does not tell its length,
    /// which is known afterwards. Stops one byte after `expected`, which shows that the data is too long.
    pub fn read_data(&mut self, data_start: u64, expected: u64, data: Data) -> Result<u64, NotRead> {
        self.cursor = self.seek(data_start)?;
        let limit = expected.saturating_add(1);
        let taken = match (&self.store, data) {
            (Store::Remote(file), Data::Count) => file.count(data_start, limit)?,
            // It is going to be read, which is possible only once.
            (Store::Remote(_), Data::Keep) => expected,
            _ => self.fill_store(limit, data)?,
        };
        let len = data_start.saturating_add(taken);
        self.len = Some(len);
        Ok(len)
    }

    /// Moves up to `limit` bytes from the stream to the end of the store. If the stream ends before that,
    /// sets its length.
    fn fill_store(&mut self, limit: u64, data: Data) -> Result<u64, NotRead> {
        let start = self.cursor;
        let Store::Stream { spool, rest } = &mut self.store else { return Ok(0) };
        let mut buffer = vec![0; BUFFER];
        let mut taken = 0;
        while taken < limit {
            let wanted = usize::try_from(limit - taken).unwrap_or(BUFFER).min(BUFFER);
            let piece = read_some(rest, &mut buffer[..wanted])?;
            if piece.is_empty() {
                self.len = Some(start + taken);
                break;
            }
            if data == Data::Keep {
                let written = spool.write_all(piece);
                let copied = spool.is_rolled().then_some(self.cursor);
                written.map_err(|error| NotRead::not_buffered(&error, copied))?;
                self.cursor += piece.len() as u64;
            }
            taken += piece.len() as u64;
        }
        Ok(taken)
    }

    /// Reads the bytes at `position` into the front of `buffer`, at least one if there are any. Never reads
    /// data together with the header.
    pub fn read_at<'b>(&mut self, position: u64, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
        let room = self.header_end.checked_sub(position).and_then(|left| usize::try_from(left).ok());
        let room = room.filter(|&left| left > 0).map_or(buffer.len(), |left| left.min(buffer.len()));
        let buffer = &mut buffer[..room];
        if let Store::Remote(file) = &self.store {
            let read = file.read(position, buffer, None)?;
            return Ok(&buffer[..read]);
        }
        if self.cursor != position || self.is_shared {
            self.cursor = self.seek(position)?;
        }
        let piece = match &mut self.store {
            Store::File { file, .. } => read_some(file, buffer)?,
            Store::Stream { spool, .. } => read_some(spool, buffer)?,
            Store::Remote(_) => &buffer[..0],
        };
        self.cursor += piece.len() as u64;
        Ok(piece)
    }

    fn seek(&mut self, position: u64) -> io::Result<u64> {
        match &mut self.store {
            Store::File { file, .. } => file.seek(SeekFrom::Start(position)),
            Store::Stream { spool, .. } => spool.seek(SeekFrom::Start(position)),
            Store::Remote(_) => Ok(position),
        }
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

/// Reads a range of a file, one buffer at a time, and passes it to `take`. The file was long enough for it.
///
/// # Errors
/// Those of the file, which has changed if it ends too early, and those of `take`.
pub fn pieces<E: From<NotRead>>(
    mut file: impl ReadAt<Error = io::Error>,
    mut range: Range<u64>,
    buffer: &mut [u8],
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    while !range.is_empty() {
        let wanted = usize::try_from(range.end - range.start).unwrap_or(usize::MAX).min(buffer.len());
        let read = match file.read_at(range.start, &mut buffer[..wanted]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            outcome => outcome.map_err(NotRead::from)?,
        };
        if read == 0 {
            return Err(NotRead::changed().into());
        }
        take(&buffer[..read])?;
        range.start += read as u64;
    }
    Ok(())
}

/// The same with errors about the file of this path.
///
/// # Errors
/// Those of the file, and those of `take`.
pub fn each_piece(
    path: &Path,
    file: impl ReadAt<Error = io::Error>,
    range: Range<u64>,
    buffer: &mut [u8],
    mut take: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut not_taken = None;
    let read = pieces(file, range, buffer, |piece| {
        take(piece).map_err(|error| {
            not_taken = Some(error);
            NotRead::interrupted()
        })
    });
    read.map_err(|reason| not_taken.unwrap_or_else(|| Error::not_read(path, reason)))
}

fn read_some<'b>(reader: &mut impl Read, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
    loop {
        match reader.read(buffer) {
            Ok(len) => return Ok(&buffer[..len]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
impl Source {
    /// A file with one tensor of these offsets, valid or not, and no data.
    pub fn of_tensor(begin: u64, end: u64) -> Self {
        let header = format!(r#"{{"a":{{"dtype":"U8","shape":[2],"data_offsets":[{begin},{end}]}}}}"#);
        let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
        Self::stream(Box::new(io::Cursor::new(file))).expect("reading from memory")
    }
}
