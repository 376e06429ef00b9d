//! Opens a file that other programs may edit at the same time.

use crate::atomic::stat_file;
use crate::disk::{Disk, Handle, read_header};
use crate::error::{Doing, EditErrorKind};
use crate::undo;
use embedded_safetensors::file::FileErrorKind;
use embedded_safetensors::file::shared::Version;
use std::path::Path;

/// A file, and its header, which is completely the old or the new one of any edit.
pub(crate) struct Opened {
    pub(crate) file: Box<dyn Handle>,
    pub(crate) version: Version,
    pub(crate) header: Vec<u8>,
    /// Whether an interrupted edit was undone.
    pub(crate) is_restored: bool,
}

/// The result of one attempt to read a file.
enum Attempt {
    Stable(Opened),
    /// An edit is under way, or was interrupted.
    Torn(Version),
    /// The file changed during the attempt.
    Changed,
}

/// Even a file that is edited all the time is readable after far fewer attempts.
const ATTEMPTS: u32 = 4 * undo::PAUSES;

impl Opened {
    /// Opens the file at this path. An interrupted edit is undone.
    ///
    /// # Errors
    /// [`FileErrorKind::Interrupted`] when it is edited all the time; those of the system.
    pub(crate) fn at(disk: &dyn Disk, path: &Path) -> Result<Self, EditErrorKind> {
        let (mut torn, mut times, mut is_restored) = (None, 0, false);
        for _ in 0..ATTEMPTS {
            let now = match Attempt::at(disk, path)? {
                Attempt::Stable(opened) => return Ok(Self { is_restored, ..opened }),
                Attempt::Torn(version) => Some(version),
                Attempt::Changed => None,
            };
            times = if now.is_some() && now == torn { times + 1 } else { 0 };
            // An edit that still runs is waited for again.
            torn = now.filter(|_| times < undo::PAUSES);
            match times {
                undo::PAUSES => is_restored |= recover(disk, path)?,
                _ => disk.pause(),
            }
        }
        Err(FileErrorKind::Interrupted.into())
    }
}

fn recover(disk: &dyn Disk, path: &Path) -> Result<bool, EditErrorKind> {
    let _guard = undo::lock();
    match undo::recover(disk, path) {
        Err(EditErrorKind::ForeignUndo(_) | EditErrorKind::File(FileErrorKind::Interrupted)) => Ok(false),
        outcome => outcome,
    }
}

impl Attempt {
    /// Reads the header, then the undo file, then the header again. If there is no undo file, an edit that
    /// was under way at the first read has ended, and the second header differs from the first.
    fn at(disk: &dyn Disk, path: &Path) -> Result<Self, EditErrorKind> {
        let _guard = undo::lock();
        stat_file(disk, path)?;
        let file = disk.open(path, false).doing("open")?;
        let version = file.stat().doing("stat")?.version;
        let header = read_header(&*file).doing("read")?;
        let is_torn = undo::is_torn(disk, path, &*file, version.len)? == Some(true);
        let now = stat_file(disk, path)?;
        let again = read_header(&*file).doing("read")?;
        if now.is_none_or(|now| now.version != version) || again != header {
            return Ok(Self::Changed);
        }
        Ok(if is_torn {
            Self::Torn(version)
        } else {
            Self::Stable(Opened { file, version, header, is_restored: false })
        })
    }
}
