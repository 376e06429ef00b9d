//! Headers overwritten in place, which is no single act: what the header was lies beside the file meanwhile.
//!
//! The undo file is there, whole and on the medium, before the first byte of the model is changed, and is removed after the
//! last one is on the medium. It holds the header that was, the one that is to be, and the ends of the data. In between, and only then,
//! each byte of the file's header is one of both, and its data end as they did: that is how it is known that an undo file
//! belongs to a file.
//!
//! While the header is whole, whoever opens the file leaves all as it is: who edits it may be alive, and a header that a dead one has left is
//! as good as any. Only one that stays torn is put back. The next edit has what the last one left on the medium before it
//! replaces the undo file.
//!
//! What has such a name and is no undo file is somebody's, and is left alone.

use super::atomic::{Replacement, look_for_file};
use super::disk::{Disk, Handle, read_up_to};
use super::error::FileFault;
use crate::error::MAX_HEADER_LEN;
use std::boxed::Box;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::vec;
use std::vec::Vec;

const MAGIC: &[u8; 16] = b"safetensors undo";
/// Before the two headers: the magic, the length of the file, the length of a header.
const FRONT: usize = 32;
/// Of the data so many bytes at each end are kept, to know them by.
const SAMPLE: usize = 4096;
/// No undo file is longer.
const LONGEST: u64 = FRONT as u64 + 2 * (8 + MAX_HEADER_LEN + SAMPLE as u64);

/// So many times an edit that seems to be under way is looked at again before it is taken for an interrupted one.
pub(super) const PAUSES: u32 = 20;

/// Longer names have no room for what is put around them.
const LONGEST_NAME: usize = 240;

/// Threads of one program do not disturb each other where a header is written in place or a file replaced; of other
/// programs nobody knows.
static EDITING: Mutex<()> = Mutex::new(());

/// Both headers, with the 8 bytes of their length, and what the file is known by.
pub(super) struct Undo {
    file_len: u64,
    old: Vec<u8>,
    new: Vec<u8>,
    sample: Vec<u8>,
}

/// Where the undo file of this file lies, if its name has room for it.
pub(super) fn place_beside(target: &Path) -> Option<PathBuf> {
    let name = target.file_name().filter(|name| name.len() <= LONGEST_NAME)?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".undo");
    Some(target.with_file_name(hidden))
}

pub(super) fn lock() -> MutexGuard<'static, ()> {
    EDITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A new file is at this place, so nothing is left to be undone.
///
/// # Errors
/// None: an undo file that does not belong to the file does no harm.
pub(super) fn forget(disk: &dyn Disk, target: &Path) {
    if let Some(place) = place_beside(target) {
        discard(disk, &place);
    }
}

/// Removes an undo file, if there is one, that there is nothing left to undo by.
fn discard(disk: &dyn Disk, place: &Path) {
    if let Ok(Some(_)) = find(disk, place) {
        let _ = remove(disk, place);
    }
}

/// Whether something lies at this place that is no undo file.
///
/// # Errors
/// Those of the system.
pub(super) fn is_taken(disk: &dyn Disk, place: &Path) -> Result<bool, FileFault> {
    let found = disk.look(place).map_err(|error| FileFault::system("look beside", error))?;
    Ok(found.is_some() && find(disk, place)?.is_none())
}

/// The undo file at this place, if there is one.
fn find(disk: &dyn Disk, place: &Path) -> Result<Option<Box<dyn Handle>>, FileFault> {
    let found = disk.look(place).map_err(|error| FileFault::system("look beside", error))?;
    if found.is_none_or(|stat| stat.other.is_some()) {
        return Ok(None);
    }
    let file = match disk.open(place, false) {
        // Its edit is over since the last call.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        outcome => outcome.map_err(cannot_load)?,
    };
    let magic = read(&*file, 0, MAGIC.len()).map_err(cannot_load)?;
    Ok((magic == MAGIC).then_some(file))
}

fn cannot_load(error: io::Error) -> FileFault {
    FileFault::system("read what undoes the edit of", error)
}

/// Removes an undo file, if nobody else has. It does no harm if a power cut brings it back: the file's header is one of both, whole.
///
/// # Errors
/// Those of the system.
fn remove(disk: &dyn Disk, place: &Path) -> Result<(), FileFault> {
    match disk.remove(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome.map_err(|error| FileFault::system("remove what could undo the edit of", error)),
    }
}

impl Undo {
    /// Of a file of this length with this header, which is to be another as long.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn new(
        file: &dyn Handle,
        file_len: u64,
        old: Vec<u8>,
        new: Vec<u8>,
    ) -> Result<Self, FileFault> {
        let sample = sample(file, old.len(), file_len)?;
        Ok(Self { file_len, old, new, sample })
    }

    /// Overwrites the header of `file`, which is at `target`; `place` is where its undo file lies meanwhile.
    ///
    /// # Errors
    /// Those of the system. The header is put back then, if the system lets it be, now or by [`recover`].
    pub(super) fn overwrite(
        &self,
        disk: &dyn Disk,
        target: &Path,
        place: &Path,
        file: &dyn Handle,
    ) -> Result<(), FileFault> {
        self.save(disk, target, place).inspect_err(|_| discard(disk, place))?;
        match put(file, &self.new) {
            Ok(()) => remove(disk, place),
            Err(fault) => {
                // Where not even this works, the undo file stays.
                let _ = put(file, &self.old).and_then(|()| remove(disk, place));
                Err(fault)
            }
        }
    }

    /// With the permissions of the file: what is in its header is nobody else's.
    fn save(&self, disk: &dyn Disk, target: &Path, place: &Path) -> Result<(), FileFault> {
        let undo = Replacement::begin_like(disk, place, target)?;
        let mut at = 0;
        let lengths = [self.file_len.to_le_bytes(), (self.old.len() as u64).to_le_bytes()].concat();
        for part in [&MAGIC[..], &lengths, &self.old, &self.new, &self.sample] {
            undo.file().write_at(at, part).map_err(|error| FileFault::system("save the header of", error))?;
            at += part.len() as u64;
        }
        undo.sync()?;
        undo.take_place()
    }

    /// The undo file at this place, if there is one.
    fn load(disk: &dyn Disk, place: &Path) -> Result<Option<Self>, FileFault> {
        let Some(file) = find(disk, place)? else { return Ok(None) };
        let len = file.stat().map_err(cannot_load)?.version.len;
        let bytes = match usize::try_from(len) {
            Ok(room) if len <= LONGEST => read(&*file, 0, room).map_err(cannot_load)?,
            _ => Vec::new(),
        };
        match Self::parse(&bytes) {
            Some(undo) => Ok(Some(undo)),
            None => Err(FileFault::ForeignUndo { undo: place.to_path_buf() }),
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (front, headers) = bytes.split_at_checked(FRONT)?;
        let lengths = front.strip_prefix(MAGIC)?;
        let (file_len, header_len) = lengths.split_first_chunk()?;
        let header_len = usize::try_from(u64::from_le_bytes(*header_len.first_chunk()?)).ok()?;
        let (old, rest) = headers.split_at_checked(header_len)?;
        let (new, sample) = rest.split_at_checked(header_len)?;
        let file_len = u64::from_le_bytes(*file_len);
        Some(Self { file_len, old: old.to_vec(), new: new.to_vec(), sample: sample.to_vec() })
    }

    /// Whether a file of this length with these first bytes is one whose edit was interrupted.
    ///
    /// # Errors
    /// Those of the system.
    fn belongs_to(&self, file: &dyn Handle, file_len: u64, header: &[u8]) -> Result<bool, FileFault> {
        let known = self.old.iter().zip(&self.new);
        let is_known = self.file_len == file_len
            && header.len() == self.old.len()
            && header.iter().zip(known).all(|(byte, (old, new))| byte == old || byte == new);
        Ok(is_known && sample(file, header.len(), file_len)? == self.sample)
    }
}

/// Writes a header, and returns when it is on the medium.
fn put(file: &dyn Handle, header: &[u8]) -> Result<(), FileFault> {
    let written = file.write_at(0, header).and_then(|()| file.sync());
    written.map_err(|error| FileFault::system("write the header of", error))
}

/// The first bytes of the data, and the last.
fn sample(file: &dyn Handle, data_start: usize, file_len: u64) -> Result<Vec<u8>, FileFault> {
    let start = data_start as u64;
    let last = file_len.saturating_sub(SAMPLE as u64).max(start);
    let ends = read(file, start, SAMPLE).and_then(|first| Ok([first, read(file, last, SAMPLE)?].concat()));
    ends.map_err(|error| FileFault::system("read", error))
}

fn read(file: &dyn Handle, at: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let len = read_up_to(file, at, &mut bytes)?;
    bytes.truncate(len);
    Ok(bytes)
}

/// Puts back the header of the file at `target` if an edit of it was interrupted; whether it had to. To be called [locked](lock).
///
/// # Errors
/// [`FileFault::ForeignUndo`] when there is an undo file that does not belong to the file; those of the system.
pub(super) fn recover(disk: &dyn Disk, target: &Path) -> Result<bool, FileFault> {
    let Some(place) = place_beside(target) else { return Ok(false) };
    let Some(undo) = Undo::load(disk, &place)? else { return Ok(false) };
    let Some(stat) = look_for_file(disk, target)? else {
        return Err(FileFault::ForeignUndo { undo: place });
    };
    let opened = disk.open(target, true);
    let file = opened.map_err(|error| FileFault::system("undo the interrupted edit of", error))?;
    let header = read(&*file, 0, undo.old.len()).map_err(|error| FileFault::system("read", error))?;
    if !undo.belongs_to(&*file, stat.version.len, &header)? {
        return Err(FileFault::ForeignUndo { undo: place });
    }
    // The new header is as good as the old one, if it is all there; it may not be on the medium yet.
    let is_whole = header == undo.new || header == undo.old;
    put(&*file, if is_whole { &header } else { &undo.old })?;
    remove(disk, &place)?;
    Ok(!is_whole)
}

/// The undo file beside `target` that belongs to this file, which has this header.
///
/// # Errors
/// Those of the system.
fn own(
    disk: &dyn Disk,
    target: &Path,
    file: &dyn Handle,
    file_len: u64,
    header: &[u8],
) -> Result<Option<Undo>, FileFault> {
    let Some(place) = place_beside(target) else { return Ok(None) };
    let undo = match Undo::load(disk, &place) {
        Err(FileFault::ForeignUndo { .. }) => None,
        outcome => outcome?,
    };
    match undo {
        Some(undo) if undo.belongs_to(file, file_len, header)? => Ok(Some(undo)),
        _ => Ok(None),
    }
}

/// Whether the header of the file at `target` is neither the one from before an edit nor the one from after it.
///
/// # Errors
/// Those of the system.
pub(super) fn is_torn(
    disk: &dyn Disk,
    target: &Path,
    file: &dyn Handle,
    file_len: u64,
    header: &[u8],
) -> Result<bool, FileFault> {
    let undo = own(disk, target, file, file_len, header)?;
    Ok(undo.is_some_and(|undo| header != undo.old && header != undo.new))
}

/// Returns when no edit of the file at `target`, which has this header, is under way any more. What an interrupted one
/// has left is on the medium then, and its undo file is of no use.
///
/// # Errors
/// Those of the system.
pub(super) fn outlast(
    disk: &dyn Disk,
    target: &Path,
    file: &dyn Handle,
    file_len: u64,
    header: &[u8],
) -> Result<(), FileFault> {
    for _ in 0..PAUSES {
        if own(disk, target, file, file_len, header)?.is_none() {
            return Ok(());
        }
        disk.pause();
    }
    file.sync().map_err(|error| FileFault::system("write the header of", error))
}
