//! Errors of verifying checkpoints.

use core::fmt;
use embedded_safetensors::error::Class;
use std::io;

/// Why a directory does not match its list of sums.
///
/// *Memory*: at most 72 bytes, and its texts on the heap.
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckpointErrorKind {
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
        /// The reason, such as a name that leads out of the directory or is listed more than once.
        reason: String,
    },
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

impl CheckpointErrorKind {
    pub(crate) fn class(&self) -> Class {
        if matches!(self, Self::TooLong { .. }) { Class::Limit } else { Class::File }
    }

    pub(crate) fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::NoSums | Self::Missing { .. } => io::ErrorKind::NotFound,
            Self::TooLong { .. } => io::ErrorKind::FileTooLarge,
            _ => io::ErrorKind::InvalidData,
        }
    }
}

impl fmt::Display for CheckpointErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSums => f.write_str("it has no SHA256SUMS"),
            Self::TooLong { bytes, allowed } => {
                write!(f, "SHA256SUMS is too long: {bytes} bytes, at most {allowed} are allowed")
            }
            Self::Line { line, reason } => write!(f, "line {line} of SHA256SUMS: {reason}"),
            Self::Missing(name) => write!(f, "{name:?} is listed but missing"),
            Self::Unlisted(name) => write!(f, "{name:?} is not listed"),
            Self::Differs { name, listed, found } => {
                write!(f, "{name:?} has the SHA-256 sum {found}, but the list says {listed}")
            }
        }
    }
}
