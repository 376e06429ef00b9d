//! Overwrites headers and data in place. That is not atomic, so the old bytes are kept beside the file
//! meanwhile, in an [`Undo`] file.
//!
//! Until the new bytes are complete, the length of the header is [marked](Undo::MARK): every reader of the
//! format rejects a half-written file. Data is synced with the new header, before the mark is removed.
//!
//! While the header has no mark, a program that opens the file changes nothing: the edit may still be
//! running, and such a file is complete in any case. Only a file that stays marked is restored. Who edits or
//! restores a file holds its [lock](Disk::lock), from before the undo file is there until it is gone. Without
//! locks, the editing program finds that its undo file is gone. The next edit syncs the file before it
//! replaces the undo file.

use crate::atomic::{Replacement, stat_file};
use crate::change::{NewData, PIECE};
use crate::disk::{Disk, Handle, read, read_up_to};
use crate::error::{Doing, EditErrorKind};
use embedded_safetensors::file::FileErrorKind;
use embedded_safetensors::file::shared::Undo;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of times that an unfinished edit is checked again before it counts as interrupted.
pub(crate) const PAUSES: u32 = 20;

/// Serializes the threads of one program that write a header in place or replace a file. It does not affect
/// other programs. The lock of the file is not enough: it belongs to the inode, which a replacement changes.
static EDITING: Mutex<()> = Mutex::new(());

pub(crate) fn lock() -> MutexGuard<'static, ()> {
    EDITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks a file that is to be edited. It waits two seconds for another program that edits it.
///
/// # Errors
/// [`FileErrorKind::Interrupted`] when that takes longer; those of the system.
pub(crate) fn lock_file(disk: &dyn Disk, target: &Path) -> Result<Box<dyn Handle>, EditErrorKind> {
    for _ in 0..4 * PAUSES {
        if let Some(file) = disk.lock(target, true).doing("write")? {
            return Ok(file);
        }
        disk.pause();
    }
    Err(FileErrorKind::Interrupted.into())
}

/// Removes the undo file of a file that has been replaced, so that there is nothing to undo.
///
/// # Errors
/// None: an undo file that does not belong to the file is harmless.
pub(crate) fn discard_beside(disk: &dyn Disk, target: &Path) {
    let Some(undo_path) = Undo::path_beside(target) else { return };
    if let Ok(Some(_)) = find(disk, &undo_path) {
        if let Ok(Some(_lock)) = disk.lock(target, false) {
            discard(disk, &undo_path);
        }
    }
}

fn discard(disk: &dyn Disk, undo_path: &Path) {
    if let Ok(Some(_)) = find(disk, undo_path) {
        let _ = remove(disk, undo_path);
    }
}

/// Returns whether something other than an undo file is at this path.
pub(crate) fn is_taken(disk: &dyn Disk, undo_path: &Path) -> Result<bool, EditErrorKind> {
    let found = disk.stat(undo_path).doing("search beside")?;
    Ok(found.is_some() && find(disk, undo_path)?.is_none())
}

/// Returns the undo file at this path, if there is one.
fn find(disk: &dyn Disk, undo_path: &Path) -> Result<Option<Box<dyn Handle>>, EditErrorKind> {
    let found = disk.stat(undo_path).doing("search beside")?;
    if found.is_none_or(|stat| stat.other.is_some()) {
        return Ok(None);
    }
    let file = match disk.open(undo_path, false) {
        // The edit has ended since the last call.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        outcome => outcome.doing(LOAD)?,
    };
    let magic = read(&*file, 0, Undo::MAGIC.len()).doing(LOAD)?;
    Ok((magic == Undo::MAGIC).then_some(file))
}

const WRITE_HEADER: &str = "write the header of";
pub(crate) const WRITE_DATA: &str = "write the data of";
pub(crate) const KEEP: &str = "save the old bytes of";
const LOAD: &str = "read the undo file of";

/// Removes an undo file, unless another program already has. It is harmless if a power cut restores it: the
/// file is completely the old or the new one.
fn remove(disk: &dyn Disk, undo_path: &Path) -> Result<(), EditErrorKind> {
    match disk.remove(undo_path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome.doing("remove the undo file of"),
    }
}

/// Overwrites the locked `file`, which is at `target`. Its undo file is at `undo_path` meanwhile. `write`
/// writes the new data, and returns the new header.
///
/// # Errors
/// Those of `write` and of the system. Then the old bytes are restored now, or by [`recover`] if that fails
/// too.
pub(crate) fn overwrite(
    edit: &Undo,
    disk: &dyn Disk,
    (target, undo_path): (&Path, &Path),
    (file, data): (&dyn Handle, &NewData<'_, '_>),
    write: impl FnOnce() -> Result<Vec<u8>, EditErrorKind>,
) -> Result<(), EditErrorKind> {
    let kept = write_undo_file(edit, disk, (target, undo_path), (file, data))
        .inspect_err(|_| discard(disk, undo_path))?;
    // Another program can have undone the edit, or have replaced the file and begun an edit of its own.
    let check_own = || match (kept.stat().doing(LOAD)?, disk.stat(undo_path).doing(LOAD)?) {
        (own, Some(found)) if own.version.identity == found.version.identity => Ok(()),
        _ => Err(EditErrorKind::CHANGED),
    };
    match write_marked(disk, file, write).and_then(|()| check_own()) {
        Ok(()) => remove(disk, undo_path),
        Err(kind) => {
            // If this fails too, the undo file stays.
            let restored = restore(edit, disk, (undo_path, &*kept), file).and_then(|()| check_own());
            let _ = restored.and_then(|()| remove(disk, undo_path));
            Err(kind)
        }
    }
}

/// Writes the undo file, with the permissions of the file, so that others cannot read its bytes.
fn write_undo_file(
    edit: &Undo,
    disk: &dyn Disk,
    (target, undo_path): (&Path, &Path),
    (file, data): (&dyn Handle, &NewData<'_, '_>),
) -> Result<Box<dyn Handle>, EditErrorKind> {
    let (undo, front) = (Replacement::begin_like(disk, undo_path, target)?, edit.to_bytes());
    undo.file().write_at(0, &front).doing(KEEP)?;
    data.keep(file, undo.file(), front.len() as u64)?;
    undo.close()?.replace_target()?;
    disk.open(undo_path, false).doing(LOAD)
}

/// Writes and syncs the old data and the old header.
fn restore(
    undo: &Undo,
    disk: &dyn Disk,
    (path, kept): (&Path, &dyn Handle),
    file: &dyn Handle,
) -> Result<(), EditErrorKind> {
    write_marked(disk, file, || {
        if !undo.data.is_empty() {
            restore_data(undo, kept, path, file)?;
        }
        Ok(undo.old.clone())
    })
}

/// Writes the old bytes, which are pieces in the undo file, each with its offset and its length before it.
fn restore_data(undo: &Undo, kept: &dyn Handle, path: &Path, file: &dyn Handle) -> Result<(), EditErrorKind> {
    let (mut at, mut piece) = (undo.to_bytes().len() as u64, vec![0; PIECE]);
    let foreign = || EditErrorKind::ForeignUndo(path.to_path_buf());
    loop {
        let mut front = [[0; 8]; 2];
        let present = read_up_to(kept, at, front.as_flattened_mut()).doing(LOAD)?;
        let [offset, len] = front.map(u64::from_le_bytes);
        let end = offset.checked_add(len).filter(|&end| undo.data.start <= offset && end <= undo.data.end);
        let bytes = usize::try_from(len).ok().and_then(|len| piece.get_mut(..len));
        let Some(bytes) = bytes.filter(|_| present == 16 && end.is_some()) else {
            return if present == 0 { Ok(()) } else { Err(foreign()) };
        };
        if read_up_to(kept, at + 16, bytes).doing(LOAD)? < bytes.len() {
            return Err(foreign());
        }
        file.write_at(offset, bytes).doing(WRITE_DATA)?;
        at += 16 + len;
    }
}

/// Returns what an undo file says, without the old data.
fn load(file: &dyn Handle, undo_path: &Path) -> Result<Undo, EditErrorKind> {
    let undo = Undo::load(&mut &*file).doing(LOAD)?;
    undo.ok_or_else(|| EditErrorKind::ForeignUndo(undo_path.to_path_buf()))
}

/// Writes and syncs data, by `write`, and the header that it returns. The length of the header is marked
/// meanwhile: at any time the file is complete, or every reader rejects it.
fn write_marked(
    disk: &dyn Disk,
    file: &dyn Handle,
    write: impl FnOnce() -> Result<Vec<u8>, EditErrorKind>,
) -> Result<(), EditErrorKind> {
    let mark = || file.write_at(Undo::MARK_AT as u64, &Undo::MARK).and_then(|()| file.sync());
    mark().doing(WRITE_HEADER)?;
    // A reader that has read the old length has read the rest by then.
    disk.pause();
    let header = write()?;
    let (front, body) = header.split_at_checked(8).unwrap_or((&header, &[]));
    let (low, high) = front.split_at_checked(Undo::MARK_AT).unwrap_or((front, &[]));
    let write_all = || file.write_at(0, low).and_then(|()| file.write_at(8, body)).and_then(|()| file.sync());
    let release = || file.write_at(Undo::MARK_AT as u64, high).and_then(|()| file.sync());
    write_all().and_then(|()| release()).doing(WRITE_HEADER)
}

/// Restores the old bytes of the file at `target` if an edit of it was interrupted. Returns whether it was.
/// The caller holds the [lock].
///
/// # Errors
/// [`EditErrorKind::ForeignUndo`] when there is an undo file that does not belong to the file;
/// [`FileErrorKind::Interrupted`] when another program is editing it; those of the system.
pub(crate) fn recover(disk: &dyn Disk, target: &Path) -> Result<bool, EditErrorKind> {
    let Some(undo_path) = Undo::path_beside(target) else { return Ok(false) };
    let Some(kept) = find(disk, &undo_path)? else { return Ok(false) };
    let Some(stat) = stat_file(disk, target)? else {
        return Err(EditErrorKind::ForeignUndo(undo_path));
    };
    load(&*kept, &undo_path)?;
    let locked = disk.lock(target, true).doing("undo the interrupted edit of")?;
    let file = locked.ok_or(FileErrorKind::Interrupted)?;
    // The edit may have ended before the lock.
    let Some(kept) = find(disk, &undo_path)? else { return Ok(false) };
    let undo = load(&*kept, &undo_path)?;
    let Some(header) = undo.header_now(&mut &*file, stat.version.len).doing("read")? else {
        return Err(EditErrorKind::ForeignUndo(undo_path));
    };
    let is_torn = undo.is_torn(&header);
    match is_torn {
        true => restore(&undo, disk, (&undo_path, &*kept), &*file)?,
        // The new bytes are complete, but may not be synced yet.
        false => file.sync().doing(WRITE_HEADER)?,
    }
    remove(disk, &undo_path)?;
    Ok(is_torn)
}

/// Returns whether the file at `target` is half written, if there is an undo file that belongs to it.
pub(crate) fn is_torn(
    disk: &dyn Disk,
    target: &Path,
    mut file: &dyn Handle,
    len: u64,
) -> Result<Option<bool>, EditErrorKind> {
    let Some(undo_path) = Undo::path_beside(target) else { return Ok(None) };
    let Some(kept) = find(disk, &undo_path)? else { return Ok(None) };
    let undo = match load(&*kept, &undo_path) {
        Err(EditErrorKind::ForeignUndo { .. }) => return Ok(None),
        undo => undo?,
    };
    Ok(undo.header_now(&mut file, len).doing("read")?.map(|header| undo.is_torn(&header)))
}

/// Waits until no edit of the file at `target` is under way, if it has no locks. The result of an
/// interrupted edit is synced then, so its undo file is no longer needed.
pub(crate) fn wait_for_edits(
    disk: &dyn Disk,
    target: &Path,
    file: &dyn Handle,
    len: u64,
) -> Result<(), EditErrorKind> {
    for _ in 0..PAUSES {
        if is_torn(disk, target, file, len)?.is_none() {
            return Ok(());
        }
        disk.pause();
    }
    file.sync().doing(WRITE_HEADER)
}
