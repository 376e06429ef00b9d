//! The undo file, `.NAME.undo`, which is beside a model while its header is overwritten in place. The crate
//! `safetensors-files` writes and syncs it before it changes the first byte of the model, and removes it
//! after the last byte is synced.
//!
//! In between, the length of the model's header is [marked](Undo::MARK), so that every reader of the format
//! rejects a half-written header. A reader looks for an undo file only if the length is one that no header
//! has.
//!
//! An undo file has the old header, the new header, and the first and last bytes of the data. Until the edit
//! is over, each byte of the model's header is that of the old header, that of the new one, or a mark, and
//! the ends of the data are unchanged. That identifies the undo file of a model. A file with such a name that
//! is not an undo file is ignored.

use super::error::FileErrorKind;
use super::header::read_up_to;
use super::open::open;
use crate::error::MAX_HEADER_LEN;
use crate::io::ReadAt;
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
}

impl Undo {
    /// The high half of the header's length while the header is overwritten. Even if only a part of it is
    /// written, no header is that long.
    pub const MARK: [u8; 4] = [0xFF; 4];
    /// The offset of that half.
    pub const MARK_AT: usize = 4;

    /// The first bytes of every undo file.
    pub const MAGIC: &[u8] = b"safetensors undo";

    /// The maximum length of an undo file.
    pub const LONGEST: u64 = FRONT as u64 + 2 * (8 + MAX_HEADER_LEN + SAMPLE as u64);

    /// Creates the undo data of a file of this length, whose header is to be replaced by one of the same
    /// length.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new(
        file: &mut impl ReadAt<Error = io::Error>,
        file_len: u64,
        old: Vec<u8>,
        new: Vec<u8>,
    ) -> io::Result<Self> {
        let sample = sample(file, old.len(), file_len)?;
        Ok(Self { file_len, old, new, sample })
    }

    /// Returns the path of the undo file of `target`, if its name is not too long.
    pub fn path_beside(target: &Path) -> Option<PathBuf> {
        let name = target.file_name().filter(|name| name.len() <= LONGEST_NAME)?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".undo");
        Some(target.with_file_name(hidden))
    }

    /// Parses an undo file.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (front, headers) = bytes.split_at_checked(FRONT)?;
        let lengths = front.strip_prefix(Self::MAGIC)?;
        let (file_len, header_len) = lengths.split_first_chunk()?;
        let header_len = usize::try_from(u64::from_le_bytes(*header_len.first_chunk()?)).ok()?;
        let (old, rest) = headers.split_at_checked(header_len)?;
        let (new, sample) = rest.split_at_checked(header_len)?;
        let file_len = u64::from_le_bytes(*file_len);
        Some(Self { file_len, old: old.to_vec(), new: new.to_vec(), sample: sample.to_vec() })
    }

    /// Returns the front of the undo file: the magic, the length of the file, the length of a header. Both
    /// headers and the ends of the data follow.
    pub fn front(&self) -> Vec<u8> {
        let lengths = [self.file_len.to_le_bytes(), (self.old.len() as u64).to_le_bytes()];
        [Self::MAGIC, lengths.as_flattened()].concat()
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
            byte == old || byte == new || is_mark(at, *byte)
        };
        let matches = is_whole && self.file_len == file_len && header.iter().zip(known).all(is_known);
        let matches = matches && sample(file, header.len(), file_len)? == self.sample;
        Ok(matches.then_some(header))
    }

    /// Returns whether a header is neither the old one nor the new one.
    pub fn is_torn(&self, header: &[u8]) -> bool {
        header != self.old && header != self.new
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
    let metadata = file.metadata()?;
    let Some(len) = usize::try_from(metadata.len()).ok().filter(|&len| len as u64 <= Undo::LONGEST) else {
        return Ok(None);
    };
    let mut bytes = vec![0; if metadata.is_file() { len } else { 0 }];
    let present = read_up_to(&mut file, 0, &mut bytes)?;
    bytes.truncate(present);
    Ok(Undo::parse(&bytes))
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
