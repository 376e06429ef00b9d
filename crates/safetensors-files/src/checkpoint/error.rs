//! Why a folder is not what its list of sums says: one sentence, with its path.

use crate::error::{EditError, EditErrorKind};
use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a folder is not what its list of sums says.
///
/// It is one sentence with the path. `?` turns it into an [`io::Error`], too: of the kind that a [`EditError`] has, or of
/// [`InvalidData`](io::ErrorKind::InvalidData) for what is not as it is listed; [`FileTooLarge`](io::ErrorKind::FileTooLarge) for a list that is too long.
///
/// *Memory*: at most 144 bytes, and its texts on the heap.
#[derive(Debug)]
pub struct CheckpointError {
    path: PathBuf,
    kind: CheckpointErrorKind,
}

/// What is wrong.
///
/// *Memory*: at most 120 bytes, and its texts on the heap.
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckpointErrorKind {
    /// A file cannot be read, or is none, such as a link.
    File(EditError),
    /// There is no list.
    NoSums,
    /// The list is longer than is read. It may be sound.
    TooLong {
        /// How many bytes it has.
        bytes: u64,
        /// How many it may have.
        allowed: u64,
    },
    /// A line of the list is wrong.
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A name in the list leads, or might lead on another system, to something else than a file in the folder.
    UnsafeName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A file is listed twice.
    Twice {
        /// Its name.
        name: String,
    },
    /// A file is listed and not there.
    Missing {
        /// Its name.
        name: String,
    },
    /// A file is there and not listed.
    Unlisted {
        /// Its name.
        name: String,
    },
    /// A file is not what is listed.
    Differs {
        /// Its name.
        name: String,
        /// The sum in the list, in hexadecimal digits.
        listed: String,
        /// The sum of the file.
        found: String,
    },
}

impl CheckpointError {
    /// The folder, by the path that was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong.
    pub fn kind(&self) -> &CheckpointErrorKind {
        &self.kind
    }
}

impl CheckpointErrorKind {
    pub(super) fn of(self, path: &Path) -> CheckpointError {
        CheckpointError { path: path.to_path_buf(), kind: self }
    }

    /// Of a name in the list that is refused.
    pub(super) fn of_name(name: &str, fault: EditErrorKind) -> Self {
        let reason = if let EditErrorKind::UnsafeName { reason, .. } = fault { reason } else { "" };
        Self::UnsafeName { name: name.into(), reason }
    }
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            CheckpointErrorKind::File(error) => error.fmt(f),
            fault => write!(f, "{}: {fault}", self.path.display()),
        }
    }
}

impl fmt::Display for CheckpointErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::NoSums => f.write_str("there is no SHA256SUMS in it"),
            Self::TooLong { bytes, allowed } => {
                write!(f, "SHA256SUMS has {bytes} bytes, and only {allowed} are allowed")
            }
            Self::Line { line, reason } => write!(f, "line {line} of SHA256SUMS: {reason}"),
            Self::UnsafeName { name, reason } => write!(f, "no file may be called {name:?}: {reason}"),
            Self::Twice { name } => write!(f, "{name:?} is listed twice"),
            Self::Missing { name } => write!(f, "{name:?} is listed and not there"),
            Self::Unlisted { name } => write!(f, "{name:?} is there and not listed"),
            Self::Differs { name, listed, found } => {
                write!(f, "{name:?} has the SHA-256 {found}, but {listed} is listed")
            }
        }
    }
}

impl core::error::Error for CheckpointError {}

impl From<CheckpointError> for io::Error {
    fn from(error: CheckpointError) -> Self {
        match error.kind {
            CheckpointErrorKind::File(error) => error.into(),
            CheckpointErrorKind::NoSums | CheckpointErrorKind::Missing { .. } => {
                Self::new(io::ErrorKind::NotFound, error)
            }
            CheckpointErrorKind::TooLong { .. } => Self::new(io::ErrorKind::FileTooLarge, error),
            _ => Self::new(io::ErrorKind::InvalidData, error),
        }
    }
}
