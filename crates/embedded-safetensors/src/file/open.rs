//! Opens a file for reading. The header is read once, and nothing is written.

use super::error::FileErrorKind;
use super::header::{read_header, refusal};
use super::undo::check_interrupted;
use crate::error::{Error, ErrorKind};
use crate::index::OwnedIndex;
use std::fs::{self, File, FileType, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;
use std::vec::Vec;

/// A file with a validated header.
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) version: Version,
    pub(super) header: Vec<u8>,
    pub(super) index: OwnedIndex,
}

impl Opened {
    /// Opens the file at this path.
    ///
    /// # Errors
    /// [`FileErrorKind::NotAFile`], [`FileErrorKind::Interrupted`], [`FileErrorKind::Format`],
    /// [`FileErrorKind::Duplicate`]; those of the system.
    pub(super) fn at(path: &Path) -> Result<Self, FileErrorKind> {
        let file = open(path).map_err(|error| open_error(path, error))?;
        let version = version(&file)?;
        let header = read(&file, &version)?;
        let validated = OwnedIndex::of(&header, version.len);
        if matches!(validated, Err(Error { kind: ErrorKind::HeaderTooLarge { .. }, .. })) {
            check_interrupted(path, &file, version.len)?;
            // The edit may have ended since the header was read.
            if self::version(&file)? != version || read(&file, &version)? != header {
                return Err(FileErrorKind::Interrupted);
            }
        }
        let index = validated.map_err(|error| refusal(error, &header))?;
        Ok(Self { file, version, header, index })
    }

    /// Validates a file that is already open. Does not check whether its header is being edited.
    ///
    /// # Errors
    /// As [`at`](Self::at).
    pub(super) fn of(file: File) -> Result<Self, FileErrorKind> {
        let version = version(&file)?;
        let header = read(&file, &version)?;
        let index = OwnedIndex::of(&header, version.len).map_err(|error| refusal(error, &header))?;
        Ok(Self { file, version, header, index })
    }
}

/// Opens a file for reading. Does not wait for the writer of a named pipe.
#[cfg(unix)]
pub(super) fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

#[cfg(windows)]
pub(super) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// The properties of a file that show whether it was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Device and inode number, where they exist.
    pub identity: Option<(u64, u64)>,
    /// The length in bytes.
    pub len: u64,
    /// The time of the last write.
    pub modified: Option<SystemTime>,
}

impl Version {
    /// Creates the version of a file from its metadata.
    pub fn of(metadata: &Metadata) -> Self {
        Self { identity: identity(metadata), len: metadata.len(), modified: metadata.modified().ok() }
    }

    /// Checks that the file is unchanged.
    ///
    /// # Errors
    /// [`FileErrorKind::Changed`]; those of the system.
    pub(super) fn check(&self, file: &File) -> Result<(), FileErrorKind> {
        let now = file.metadata().map_err(|error| FileErrorKind::system("stat", error))?;
        if Self::of(&now) == *self { Ok(()) } else { Err(FileErrorKind::Changed) }
    }
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(windows)]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}

fn version(file: &File) -> Result<Version, FileErrorKind> {
    let metadata = file.metadata().map_err(|error| FileErrorKind::system("stat", error))?;
    match other_than_file(metadata.file_type()) {
        Some(what) => Err(FileErrorKind::NotAFile { what }),
        None => Ok(Version::of(&metadata)),
    }
}

fn read(file: &File, version: &Version) -> Result<Vec<u8>, FileErrorKind> {
    read_header(&mut &*file, version.len).map_err(|error| FileErrorKind::system("read", error))
}

/// Returns why a file could not be opened.
fn open_error(path: &Path, error: io::Error) -> FileErrorKind {
    match fs::metadata(path).ok().and_then(|metadata| other_than_file(metadata.file_type())) {
        Some(what) => FileErrorKind::NotAFile { what },
        None => FileErrorKind::system("open", error),
    }
}

/// Returns the kind of file, unless it is a regular file.
pub fn other_than_file(kind: FileType) -> Option<&'static str> {
    match kind {
        _ if kind.is_file() => None,
        _ if kind.is_dir() => Some("a directory"),
        _ => Some(special(kind)),
    }
}

#[cfg(unix)]
fn special(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        _ if kind.is_fifo() => "a named pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(windows)]
fn special(_: FileType) -> &'static str {
    "no regular file"
}
