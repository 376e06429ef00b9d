//! Errors of verifying checkpoints: one sentence, with the path.

use crate::error::{EditError, EditErrorKind};
use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a directory does not match its list of sums.
///
/// Its `Display` is one sentence with the path. `?` also converts it to an [`io::Error`]. Its kind is that of
/// the [`EditError`]; [`NotFound`](io::ErrorKind::NotFound) for a missing file or list;
/// [`FileTooLarge`](io::ErrorKind::FileTooLarge) for a list that is too long;
/// [`InvalidData`](io::ErrorKind::InvalidData) for all others.
///
/// *Memory*: at most 144 bytes, and its texts on the heap.
#[derive(Debug)]
pub struct CheckpointError {
    path: PathBuf,
    kind: CheckpointErrorKind,
}

/// The reason of a [`CheckpointError`].
///
/// *Memory*: at most 120 bytes, and its texts on the heap.
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckpointErrorKind {
    /// A file cannot be read, or is not a regular file, such as a link.
    File(EditError),
    /// There is no list.
    NoSums,
    /// The list is too long. It may be valid.
    TooLong {
        /// The length of the list in bytes.
        bytes: u64,
        /// The maximum length.
        allowed: u64,
    },
    /// A line of the list is invalid.
    Line {
        /// The number of the line, counted from 1.
        line: usize,
        /// The reason.
        reason: &'static str,
    },
    /// A name in the list leads, on this system or another, to something other than a file in the directory.
    UnsafeName {
        /// The name.
        name: String,
        /// The reason.
        reason: &'static str,
    },
    /// This file is listed more than once.
    Duplicate(String),
    /// This listed file does not exist.
    Missing(String),
    /// This file is not listed.
    Unlisted(String),
    /// A file has another sum than listed.
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
    /// Returns the path of the directory as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the reason.
    pub fn kind(&self) -> &CheckpointErrorKind {
        &self.kind
    }
}

impl CheckpointErrorKind {
    pub(super) fn of(self, path: &Path) -> CheckpointError {
        CheckpointError { path: path.to_path_buf(), kind: self }
    }

    /// Creates the error of a rejected name in the list.
    pub(super) fn of_name(name: &str, kind: EditErrorKind) -> Self {
        let reason = if let EditErrorKind::UnsafeName { reason, .. } = kind { reason } else { "" };
        Self::UnsafeName { name: name.into(), reason }
    }
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            CheckpointErrorKind::File(error) => error.fmt(f),
            kind => write!(f, "{}: {kind}", self.path.display()),
        }
    }
}

impl fmt::Display for CheckpointErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::NoSums => f.write_str("it has no SHA256SUMS"),
            Self::TooLong { bytes, allowed } => {
                write!(f, "SHA256SUMS is too long: {bytes} bytes, at most {allowed} are allowed")
            }
            Self::Line { line, reason } => write!(f, "line {line} of SHA256SUMS: {reason}"),
            Self::UnsafeName { name, reason } => write!(f, "unsafe file name {name:?}: {reason}"),
            Self::Duplicate(name) => write!(f, "{name:?} is listed more than once"),
            Self::Missing(name) => write!(f, "{name:?} is listed but missing"),
            Self::Unlisted(name) => write!(f, "{name:?} is not listed"),
            Self::Differs { name, listed, found } => {
                write!(f, "{name:?} has the SHA-256 sum {found}, but the list says {listed}")
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
