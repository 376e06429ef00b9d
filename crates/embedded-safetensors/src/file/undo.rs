//! The undo file, `.NAME.undo`, which is beside a model while its header or its data is overwritten in place.
//! The crate `safetensors-files` writes and syncs it before it changes the first byte of the model, and
//! removes it after the last byte is synced.
//!
//! In between, the length of the model's header is [marked](Undo::MARK), so that every reader of the format
//! rejects a half-written file. A reader looks for an undo file only if the length is one that no header has.
//!
//! An undo file has the old header, the new header, and the first and last bytes of the data. Until the edit
//! is over, each byte of the model's header is that of the old header, that of the new one, or a mark, and
//! the ends of the data are unchanged. That identifies the undo file of a model. A file with such a name that
//! is not an undo file is ignored.
//!
//! If data is overwritten, the range of the file in which it changes follows, and then the old bytes: pieces,
//! each with its offset and its length before it. Only `safetensors-files` reads those.

use super::error::FileErrorKind;
use super::header::read_up_to;
use super::open::open;
use crate::error::MAX_HEADER_LEN;
use crate::io::ReadAt;
use core::ops::Range;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::vec;
use std::vec::Vec;

/// The length of the bytes before the two headers: the magic, the length of the file, the length of a header.
const FRONT: usize = 32;
/// The number of bytes kept of each end of the data, to identify it.
const SAMPLE: usize = 4096;
/// The length of the range in which data changes.
const RANGE: usize = 16;

/// The longest name that still has space for the prefix and suffix.
const LONGEST_NAME: usize = 240;

/// Both headers, with the 8 bytes of their length, and the bytes that identify the file.
#[derive(Debug)]
pub struct Undo {
    /// The length of the model's file in bytes.
    pub file_len: u64,
    /// The header before the edit.
    pub old: Vec<u8>,
    /// The header after the edit, which has the same length.
    pub new: Vec<u8>,
    /// The first bytes of the data, and the last.
    pub sample: Vec<u8>,
    /// The bytes of the file among which data changes; empty if only the header does.
    pub data: Range<u64>,
}

impl Undo {
    /// The high half of the header's length while the header is overwritten. Even if only a part of it is
    /// written, no header is that long.
    pub const MARK: [u8; 4] = [0xFF; 4];
    /// The offset of that half.
    pub const MARK_AT: usize = 4;

    /// The first bytes of every undo file.
    pub const MAGIC: &[u8] = b"safetensors undo";

    /// A byte of the new header that is not known before the edit, as a digit of a sum. No header has it.
    pub const ANY: u8 = 0xFF;

    /// Creates the undo data of a file of this length, whose header is to be replaced by one of the same
    /// length, and whose data changes only among these bytes of the file.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new(
        file: &mut impl ReadAt<Error = io::Error>,
        file_len: u64,
        old: Vec<u8>,
        new: Vec<u8>,
        data: Range<u64>,
    ) -> io::Result<Self> {
        let sample = sample(file, old.len(), file_len)?;
        Ok(Self { file_len, old, new, sample, data })
    }

    /// Returns the path of the undo file of `target`, if its name is not too long.
    pub fn path_beside(target: &Path) -> Option<PathBuf> {
        let name = target.file_name().filter(|name| name.len() <= LONGEST_NAME)?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".undo");
        Some(target.with_file_name(hidden))
    }

    /// Loads an undo file without the old bytes of data, if it is one.
    ///
    /// # Errors
    /// Those of the system.
    pub fn load(file: &mut impl ReadAt<Error = io::Error>) -> io::Result<Option<Self>> {
        let mut front = [0; FRONT];
        let is_whole = read_up_to(file, 0, &mut front)? == FRONT;
        let len = file.file_len()?.exact().unwrap_or(u64::MAX);
        let found = lengths(&front).filter(|(_, header_len)| is_whole && *header_len as u64 <= len / 2);
        let Some((file_len, header_len)) = found else { return Ok(None) };
        let mut bytes = vec![0; FRONT + 2 * header_len + sample_len(header_len, file_len) + RANGE];
        let present = read_up_to(file, 0, &mut bytes)?;
        bytes.truncate(present);
        Ok(Self::parse(&bytes))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (file_len, header_len) = lengths(bytes)?;
        let (old, rest) = bytes.get(FRONT..)?.split_at_checked(header_len)?;
        let (new, rest) = rest.split_at_checked(header_len)?;
        let (sample, range) = rest.split_at_checked(sample_len(header_len, file_len))?;
        let data = match range {
            [] => 0..0,
            range => number(range)?..number(range.get(8..)?)?,
        };
        let is_inside = header_len as u64 <= data.start && data.start < data.end && data.end <= file_len;
        let (old, new, sample) = (old.to_vec(), new.to_vec(), sample.to_vec());
        (is_inside || range.is_empty()).then_some(Self { file_len, old, new, sample, data })
    }

    /// Returns the undo file without the old bytes of data, which follow if data changes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let lengths = [self.file_len, self.old.len() as u64].map(u64::to_le_bytes);
        let range = [self.data.start, self.data.end].map(u64::to_le_bytes);
        let range = if self.data.is_empty() { &[] } else { range.as_flattened() };
        [Self::MAGIC, lengths.as_flattened(), &self.old, &self.new, &self.sample, range].concat()
    }

    /// Returns the current header of a file of this length, if this undo file belongs to it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn header_now(
        &self,
        file: &mut impl ReadAt<Error = io::Error>,
        file_len: u64,
    ) -> io::Result<Option<Vec<u8>>> {
        let mut header = vec![0; self.old.len()];
        let is_whole = read_up_to(file, 0, &mut header)? == header.len();
        let known = self.old.iter().zip(&self.new).enumerate();
        let is_mark = |at, byte| (Self::MARK_AT..8).contains(&at) && byte == 0xFF;
        let is_known = |(byte, (at, (old, new))): (&u8, (usize, (&u8, &u8)))| {
            byte == old || byte == new || *new == Self::ANY || is_mark(at, *byte)
        };
        let matches = is_whole && self.file_len == file_len && header.iter().zip(known).all(is_known);
        let matches = matches && self.is_same_data(&sample(file, header.len(), file_len)?);
        Ok(matches.then_some(header))
    }

    /// Returns whether the ends of the data are those of before, except where they may change.
    fn is_same_data(&self, now: &[u8]) -> bool {
        let (start, half) = (self.old.len() as u64, self.sample.len() as u64 / 2);
        let offsets = (start..start + half).chain(self.file_len.saturating_sub(half)..self.file_len);
        let mut bytes = now.iter().zip(&self.sample).zip(offsets);
        now.len() == self.sample.len()
            && bytes.all(|((now, old), offset)| now == old || self.data.contains(&offset))
    }

    /// Returns whether this header of the file is marked, and so the edit is not over.
    pub fn is_torn(&self, header: &[u8]) -> bool {
        header.get(Self::MARK_AT..8) != self.old.get(Self::MARK_AT..8)
    }
}

/// Checks whether the invalid header of the file at this path is half written.
///
/// # Errors
/// [`FileErrorKind::Interrupted`]; those of the system.
pub(super) fn check_interrupted(path: &Path, file: &File, len: u64) -> Result<(), FileErrorKind> {
    let cannot = |error| FileErrorKind::system("read the undo file of", error);
    // The undo file is beside the target of a link.
    let resolved = fs::canonicalize(path).map_err(cannot)?;
    let undo = match Undo::path_beside(&resolved).map(|undo| open(&undo)) {
        None => return Ok(()),
        Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Some(undo) => load(&undo.map_err(cannot)?).map_err(cannot)?,
    };
    let Some(undo) = undo else { return Ok(()) };
    match undo.header_now(&mut &*file, len).map_err(cannot)? {
        Some(header) if undo.is_torn(&header) => Err(FileErrorKind::Interrupted),
        _ => Ok(()),
    }
}

/// Loads an undo file, if it is one.
fn load(mut file: &File) -> io::Result<Option<Undo>> {
    if file.metadata()?.is_file() { Undo::load(&mut file) } else { Ok(None) }
}

/// Returns the lengths of the file and of its header, which an undo file begins with.
fn lengths(front: &[u8]) -> Option<(u64, usize)> {
    let lengths = front.strip_prefix(Undo::MAGIC)?;
    let (file_len, header_len) = (number(lengths)?, number(lengths.get(8..)?)?);
    let is_possible = header_len <= 8 + MAX_HEADER_LEN && header_len <= file_len;
    is_possible.then_some((file_len, usize::try_from(header_len).ok()?))
}

fn number(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Returns the number of bytes that are kept of both ends of the data.
fn sample_len(header_len: usize, file_len: u64) -> usize {
    let data_len = file_len.saturating_sub(header_len as u64);
    2 * usize::try_from(data_len).unwrap_or(SAMPLE).min(SAMPLE)
}

/// Reads the first bytes of the data, and the last.
fn sample(
    file: &mut impl ReadAt<Error = io::Error>,
    data_start: usize,
    file_len: u64,
) -> io::Result<Vec<u8>> {
    let start = data_start as u64;
    let last = file_len.saturating_sub(SAMPLE as u64).max(start);
    let mut ends = vec![0; 2 * SAMPLE];
    let (first, second) = ends.split_at_mut(SAMPLE);
    let (first_len, second_len) = (read_up_to(file, start, first)?, read_up_to(file, last, second)?);
    ends.copy_within(SAMPLE..SAMPLE + second_len, first_len);
    ends.truncate(first_len + second_len);
    Ok(ends)
}
