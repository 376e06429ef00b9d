//! A file that is opened while others may edit it.

use crate::atomic::look_for_file;
use crate::disk::{Disk, Handle, read_header};
use crate::error::EditErrorKind;
use crate::undo;
use embedded_safetensors::file::FileErrorKind;
use embedded_safetensors::file::shared::Version;
use std::path::Path;

/// A file, and its header, which is that from before or after any edit.
pub(crate) struct Opened {
    pub(crate) file: Box<dyn Handle>,
    pub(crate) version: Version,
    pub(crate) header: Vec<u8>,
}

/// What has been seen of a file at one time.
enum Look {
    Whole(Opened),
    /// An edit is under way, or was interrupted.
    Torn(Version),
    /// It has changed while it was looked at.
    Moved,
}

/// A file that is edited all the time shows itself whole much sooner.
const LOOKS: u32 = 4 * undo::PAUSES;

impl Opened {
    /// The file at this place. An edit that was interrupted half way is undone.
    ///
    /// # Errors
    /// [`FileErrorKind::Interrupted`] when it is edited again and again; those of the system.
    pub(crate) fn at(disk: &dyn Disk, place: &Path) -> Result<Self, EditErrorKind> {
        let (mut torn, mut times) = (None, 0);
        for _ in 0..LOOKS {
            let now = match Look::at(disk, place)? {
                Look::Whole(opened) => return Ok(opened),
                Look::Torn(version) => Some(version),
                Look::Moved => None,
            };
            times = if now.is_some() && now == torn { times + 1 } else { 0 };
            torn = now;
            match times {
                undo::PAUSES => recover(disk, place)?,
                _ => disk.pause(),
            }
        }
        Err(FileErrorKind::Interrupted.into())
    }
}

fn recover(disk: &dyn Disk, place: &Path) -> Result<(), EditErrorKind> {
    let _guard = undo::lock();
    match undo::recover(disk, place) {
        Ok(_) | Err(EditErrorKind::ForeignUndo { .. }) => Ok(()),
        Err(fault) => Err(fault),
    }
}

impl Look {
    /// The header is read first, then what may undo an edit, then the header again: where no undo file tells that an edit is
    /// half done, one that was half done at first is over, and the second header is another one.
    fn at(disk: &dyn Disk, place: &Path) -> Result<Self, EditErrorKind> {
        let _guard = undo::lock();
        look_for_file(disk, place)?;
        let file = disk.open(place, false).map_err(|error| EditErrorKind::system("open", error))?;
        let version = file.stat().map_err(|error| EditErrorKind::system("look at", error))?.version;
        let cannot_read = |error| EditErrorKind::system("read", error);
        let header = read_header(&*file).map_err(cannot_read)?;
        let is_torn = undo::is_torn(disk, place, &*file, version.len)?;
        let now = look_for_file(disk, place)?;
        let again = read_header(&*file).map_err(cannot_read)?;
        if now.is_none_or(|now| now.version != version) || again != header {
            return Ok(Self::Moved);
        }
        Ok(if is_torn { Self::Torn(version) } else { Self::Whole(Opened { file, version, header }) })
    }
}
