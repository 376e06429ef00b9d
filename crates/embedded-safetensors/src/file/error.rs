//! Errors of reading files: one sentence, with the path.

use crate::error::Error;
use core::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::string::String;

/// Why a file could not be read.
///
/// Its `Display` is one sentence with the path, the attempted action, and the reason. `?` also converts it to
/// an [`io::Error`]. Its kind is that of the system's error; [`InvalidData`](io::ErrorKind::InvalidData) for
/// a file that is invalid, was changed, or is half edited; [`FileTooLarge`](io::ErrorKind::FileTooLarge) for
/// one that is too large to map; [`InvalidInput`](io::ErrorKind::InvalidInput) for a path that is not a
/// regular file.
///
/// *Memory*: at most 88 bytes, and its texts on the heap.
#[derive(Debug)]
pub struct FileError {
    path: PathBuf,
    kind: FileErrorKind,
}

/// The reason of a [`FileError`].
///
/// *Memory*: at most 64 bytes, and its texts on the heap.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileErrorKind {
    /// A call of the system failed.
    System {
        /// The action, as in "cannot write".
        action: &'static str,
        /// The error of the system.
        error: io::Error,
    },
    /// The path is not a regular file.
    NotAFile {
        /// The kind of file.
        what: &'static str,
    },
    /// The file is invalid.
    Format(Error),
    /// The file has a duplicate name, or a duplicate key of `__metadata__`.
    Duplicate {
        /// The error with its position: [`DuplicateName`](crate::ErrorKind::DuplicateName) or
        /// [`DuplicateKey`](crate::ErrorKind::DuplicateKey).
        error: Error,
        /// The name or the key, with escapes as in the file.
        name: String,
    },
    /// The file is larger than the address space. It can be read, but not mapped.
    TooLong {
        /// The length of the file.
        len: u64,
    },
    /// The file was changed since it was opened.
    Changed,
    /// The header is half written: an edit in place is under way, or was interrupted. `ModelEditor::recover`
    /// in the crate `safetensors-files` repairs it.
    Interrupted,
}

impl FileError {
    /// Returns the path of the file as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the reason.
    pub fn kind(&self) -> &FileErrorKind {
        &self.kind
    }

    /// Returns the path and the reason.
    pub fn into_parts(self) -> (PathBuf, FileErrorKind) {
        (self.path, self.kind)
    }
}

impl FileErrorKind {
    /// Creates the error of this file.
    pub fn of(self, path: impl AsRef<Path>) -> FileError {
        FileError { path: path.as_ref().to_path_buf(), kind: self }
    }

    /// Creates the error of an action that the system could not do.
    pub fn system(action: &'static str, error: io::Error) -> Self {
        Self::System { action, error }
    }

    /// Returns the kind of the [`io::Error`] that it converts to.
    pub fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::System { error, .. } => error.kind(),
            Self::NotAFile { .. } => io::ErrorKind::InvalidInput,
            Self::TooLong { .. } => io::ErrorKind::FileTooLarge,
            Self::Format(_) | Self::Duplicate { .. } | Self::Changed | Self::Interrupted => {
                io::ErrorKind::InvalidData
            }
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            kind if self.path.as_os_str().is_empty() => kind.fmt(f),
            FileErrorKind::System { action, error } => write!(f, "cannot {action} {path}: {error}"),
            kind => write!(f, "{path}: {kind}"),
        }
    }
}

impl fmt::Display for FileErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System { action, error } => write!(f, "cannot {action} it: {error}"),
            Self::NotAFile { what } => write!(f, "it is {what}, not a file"),
            Self::Format(error) => error.fmt(f),
            Self::Duplicate { error, name } => write!(f, "{name:?}: {error}"),
            Self::TooLong { len } => {
                let bits = usize::BITS;
                write!(f, "it has {len} bytes, too many to map with addresses of {bits} bits")
            }
            Self::Changed => f.write_str("it has changed since it was opened"),
            Self::Interrupted => f.write_str(
                "another program is editing it, or was interrupted and left its header half written; \
                     ModelEditor::recover restores it then",
            ),
        }
    }
}

impl core::error::Error for FileError {}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        Self::new(error.kind.io_kind(), error)
    }
}
