//! Why a file could not be read: one sentence, with its path.

use crate::error::Error;
use core::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::string::String;

/// Why a file could not be read.
///
/// It is one sentence with the path, what was tried, and what is wrong. `?` turns it into an [`io::Error`], too, of the kind
/// that the system gave; [`InvalidData`](io::ErrorKind::InvalidData) for a file that is unsound, was changed, or is half edited;
/// [`FileTooLarge`](io::ErrorKind::FileTooLarge) for one that cannot be mapped; [`InvalidInput`](io::ErrorKind::InvalidInput) for what is not a file.
///
/// *Memory*: at most 88 bytes, and its texts on the heap.
#[derive(Debug)]
pub struct FileError {
    path: PathBuf,
    kind: FileErrorKind,
}

/// What is wrong.
///
/// *Memory*: at most 64 bytes, and its texts on the heap.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileErrorKind {
    /// The system could not do what was asked of it.
    System {
        /// What that was, as in "cannot write".
        action: &'static str,
        /// The system's reason.
        error: io::Error,
    },
    /// Something that is no regular file is there.
    NotAFile {
        /// What it is.
        what: &'static str,
    },
    /// The file is not sound.
    Format(Error),
    /// The file has a duplicate name, or a duplicate key of `__metadata__`.
    Twice {
        /// Where, and which of both it is.
        error: Error,
        /// The name or the key, as the file spells it.
        name: String,
    },
    /// The file is longer than a program has addresses for. It can be read without being mapped.
    TooLong {
        /// How long it is.
        len: u64,
    },
    /// The file is no longer the one that was opened.
    Changed,
    /// The header is half written: an edit in place is under way, or was interrupted. `ModelEditor::recover` in the crate `safetensors-files` repairs it.
    Interrupted,
}

impl FileError {
    /// The file, by the path that was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong.
    pub fn kind(&self) -> &FileErrorKind {
        &self.kind
    }

    /// The path and what is wrong.
    pub fn into_parts(self) -> (PathBuf, FileErrorKind) {
        (self.path, self.kind)
    }
}

impl FileErrorKind {
    /// The error of this file.
    pub fn of(self, path: impl AsRef<Path>) -> FileError {
        FileError { path: path.as_ref().to_path_buf(), kind: self }
    }

    /// The system could not do this.
    pub fn system(action: &'static str, error: io::Error) -> Self {
        Self::System { action, error }
    }

    /// The kind that it has as an [`io::Error`].
    pub fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::System { error, .. } => error.kind(),
            Self::NotAFile { .. } => io::ErrorKind::InvalidInput,
            Self::TooLong { .. } => io::ErrorKind::FileTooLarge,
            Self::Format(_) | Self::Twice { .. } | Self::Changed | Self::Interrupted => {
                io::ErrorKind::InvalidData
            }
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            fault if self.path.as_os_str().is_empty() => fault.fmt(f),
            FileErrorKind::System { action, error } => write!(f, "cannot {action} {path}: {error}"),
            fault => write!(f, "{path}: {fault}"),
        }
    }
}

impl fmt::Display for FileErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System { action, error } => write!(f, "cannot {action} it: {error}"),
            Self::NotAFile { what } => write!(f, "it is {what}, not a file"),
            Self::Format(error) => error.fmt(f),
            Self::Twice { error, name } => write!(f, "{name:?}: {error}"),
            Self::TooLong { len } => {
                write!(f, "it has {len} bytes, and cannot be mapped where an address has {} bits", usize::BITS)
            }
            Self::Changed => f.write_str("it was changed by someone else since it was opened"),
            Self::Interrupted => {
                f.write_str("its header is half written, by an edit that is under way or was interrupted; ModelEditor::recover repairs it")
            }
        }
    }
}

impl core::error::Error for FileError {}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        Self::new(error.kind.io_kind(), error)
    }
}
