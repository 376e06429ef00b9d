//! Headers overwritten in place, which is not atomic: what the header was lies beside the file meanwhile, in an [`Undo`] file.
//!
//! Until the new header is whole, its length is [marked](Undo::MARK): every reader of the format refuses a header that is half written.
//!
//! While the header is whole, a program that opens the file changes nothing: its editor may be running, and a whole header is good whoever left it.
//! Only a header that stays torn is put back. The next edit has what the last one left on the medium before it
//! replaces the undo file.

use crate::atomic::{Replacement, look_for_file};
use crate::disk::{Disk, Handle, read_up_to};
use crate::error::EditErrorKind;
use embedded_safetensors::file::shared::Undo;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many times an edit that seems to be under way is looked at again before it is taken for an interrupted one.
pub(crate) const PAUSES: u32 = 20;

/// Threads of one program take turns to write a header in place or to replace a file. The lock does not reach other
/// programs.
static EDITING: Mutex<()> = Mutex::new(());

pub(crate) fn lock() -> MutexGuard<'static, ()> {
    EDITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A new file is at this place, so nothing is left to be undone.
///
/// # Errors
/// None: an undo file that does not belong to the file does no harm.
pub(crate) fn forget(disk: &dyn Disk, target: &Path) {
    if let Some(place) = Undo::path_beside(target) {
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
pub(crate) fn is_taken(disk: &dyn Disk, place: &Path) -> Result<bool, EditErrorKind> {
    let found = disk.look(place).map_err(|error| EditErrorKind::system("look beside", error))?;
    Ok(found.is_some() && find(disk, place)?.is_none())
}

/// The undo file at this place, if there is one.
fn find(disk: &dyn Disk, place: &Path) -> Result<Option<Box<dyn Handle>>, EditErrorKind> {
    let found = disk.look(place).map_err(|error| EditErrorKind::system("look beside", error))?;
    if found.is_none_or(|stat| stat.other.is_some()) {
        return Ok(None);
    }
    let file = match disk.open(place, false) {
        // Its edit is over since the last call.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        outcome => outcome.map_err(cannot_load)?,
    };
    let magic = read(&*file, 0, Undo::MAGIC.len()).map_err(cannot_load)?;
    Ok((magic == Undo::MAGIC).then_some(file))
}

fn cannot_load(error: io::Error) -> EditErrorKind {
    EditErrorKind::system("read what undoes the edit of", error)
}

/// Removes an undo file, unless another program has. It does no harm if a power cut brings it back: the file's header is one of both, whole.
///
/// # Errors
/// Those of the system.
fn remove(disk: &dyn Disk, place: &Path) -> Result<(), EditErrorKind> {
    match disk.remove(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => {
            outcome.map_err(|error| EditErrorKind::system("remove what could undo the edit of", error))
        }
    }
}

/// Overwrites the header of `file`, which is at `target`; `place` is where its undo file lies meanwhile.
///
/// # Errors
/// Those of the system. The header is put back then, if the system lets it be, now or by [`recover`].
pub(crate) fn overwrite(
    edit: &Undo,
    disk: &dyn Disk,
    (target, place): (&Path, &Path),
    file: &dyn Handle,
) -> Result<(), EditErrorKind> {
    save(edit, disk, target, place).inspect_err(|_| discard(disk, place))?;
    match put(disk, file, &edit.new) {
        Ok(()) => remove(disk, place),
        Err(fault) => {
            // Where not even this works, the undo file stays.
            let _ = put(disk, file, &edit.old).and_then(|()| remove(disk, place));
            Err(fault)
        }
    }
}

/// With the permissions of the file, so that its header is not shown to others.
fn save(edit: &Undo, disk: &dyn Disk, target: &Path, place: &Path) -> Result<(), EditErrorKind> {
    let undo = Replacement::begin_like(disk, place, target)?;
    let mut at = 0;
    for part in [&edit.front(), &edit.old, &edit.new, &edit.sample] {
        undo.file().write_at(at, part).map_err(|error| EditErrorKind::system("save the header of", error))?;
        at += part.len() as u64;
    }
    undo.close()?.take_place()
}

/// The undo file at this place, if there is one.
fn load(disk: &dyn Disk, place: &Path) -> Result<Option<Undo>, EditErrorKind> {
    let Some(file) = find(disk, place)? else { return Ok(None) };
    let len = file.stat().map_err(cannot_load)?.version.len;
    let bytes = match usize::try_from(len) {
        Ok(room) if len <= Undo::LONGEST => read(&*file, 0, room).map_err(cannot_load)?,
        _ => Vec::new(),
    };
    match Undo::parse(&bytes) {
        Some(undo) => Ok(Some(undo)),
        None => Err(EditErrorKind::ForeignUndo { undo: place.to_path_buf() }),
    }
}

fn header_now(undo: &Undo, mut file: &dyn Handle, len: u64) -> Result<Option<Vec<u8>>, EditErrorKind> {
    undo.header_now(&mut file, len).map_err(|error| EditErrorKind::system("read", error))
}

/// Writes a header, and returns when it is on the medium. Its length is marked meanwhile: at any time the header is whole, or no reader takes it.
fn put(disk: &dyn Disk, file: &dyn Handle, header: &[u8]) -> Result<(), EditErrorKind> {
    let (front, body) = header.split_at_checked(8).unwrap_or((header, &[]));
    let (low, high) = front.split_at_checked(Undo::MARK_AT).unwrap_or((front, &[]));
    let mark = || file.write_at(Undo::MARK_AT as u64, &Undo::MARK).and_then(|()| file.sync());
    let write_all = || file.write_at(0, low).and_then(|()| file.write_at(8, body)).and_then(|()| file.sync());
    let release = || file.write_at(Undo::MARK_AT as u64, high).and_then(|()| file.sync());
    let cannot = |error| EditErrorKind::system("write the header of", error);
    mark().map_err(cannot)?;
    // A reader that has read the length before has read the rest by then.
    disk.pause();
    write_all().and_then(|()| release()).map_err(cannot)
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
/// [`EditErrorKind::ForeignUndo`] when there is an undo file that does not belong to the file; those of the system.
pub(crate) fn recover(disk: &dyn Disk, target: &Path) -> Result<bool, EditErrorKind> {
    let Some(place) = Undo::path_beside(target) else { return Ok(false) };
    let Some(undo) = load(disk, &place)? else { return Ok(false) };
    let Some(stat) = look_for_file(disk, target)? else {
        return Err(EditErrorKind::ForeignUndo { undo: place });
    };
    let opened = disk.open(target, true);
    let file = opened.map_err(|error| EditErrorKind::system("undo the interrupted edit of", error))?;
    let Some(header) = header_now(&undo, &*file, stat.version.len)? else {
        return Err(EditErrorKind::ForeignUndo { undo: place });
    };
    let is_torn = undo.is_torn(&header);
    match is_torn {
        true => put(disk, &*file, &undo.old)?,
        // The new header is as good as the old one, but may not be on the medium yet.
        false => file.sync().map_err(|error| EditErrorKind::system("write the header of", error))?,
    }
    remove(disk, &place)?;
    Ok(is_torn)
}

/// The header of the file at `target`, and the undo file beside it that belongs to it.
///
/// # Errors
/// Those of the system.
fn own(
    disk: &dyn Disk,
    target: &Path,
    file: &dyn Handle,
    len: u64,
) -> Result<Option<(Vec<u8>, Undo)>, EditErrorKind> {
    let Some(place) = Undo::path_beside(target) else { return Ok(None) };
    let undo = match load(disk, &place) {
        Err(EditErrorKind::ForeignUndo { .. }) => None,
        outcome => outcome?,
    };
    let Some(undo) = undo else { return Ok(None) };
    Ok(header_now(&undo, file, len)?.map(|header| (header, undo)))
}

/// Whether the header of the file at `target` is neither the one from before an edit nor the one from after it.
///
/// # Errors
/// Those of the system.
pub(crate) fn is_torn(
    disk: &dyn Disk,
    target: &Path,
    file: &dyn Handle,
    len: u64,
) -> Result<bool, EditErrorKind> {
    let own = own(disk, target, file, len)?;
    Ok(own.is_some_and(|(header, undo)| undo.is_torn(&header)))
}

/// Returns when no edit of the file at `target` is under way any more. What an interrupted one
/// has left is on the medium then, and its undo file is of no use.
///
/// # Errors
/// Those of the system.
pub(crate) fn outlast(
    disk: &dyn Disk,
    target: &Path,
    file: &dyn Handle,
    len: u64,
) -> Result<(), EditErrorKind> {
    for _ in 0..PAUSES {
        if own(disk, target, file, len)?.is_none() {
            return Ok(());
        }
        disk.pause();
    }
    file.sync().map_err(|error| EditErrorKind::system("write the header of", error))
}
