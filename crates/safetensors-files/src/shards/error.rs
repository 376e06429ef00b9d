//! Errors of models in several files.

use core::fmt;
use embedded_safetensors::error::Class;
use std::io;

/// Why a model in several files is invalid, exceeds a limit, or cannot be replaced.
///
/// *Memory*: at most 88 bytes, and its texts on the heap.
#[derive(Debug)]
#[non_exhaustive]
pub enum ShardErrorKind {
    /// The directory has no index.
    NoIndex,
    /// The directory has more than one index, such as these two, and none has the standard name.
    ManyIndexes([String; 2]),
    /// The file is not JSON, or not an index.
    Json {
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1 in bytes; 0 before the first byte of a line.
        column: usize,
        /// The reason.
        reason: String,
    },
    /// The index has a duplicate tensor, member of `metadata` or top-level member of this name.
    Duplicate(String),
    /// The index exceeds a limit. It may be valid.
    Limit {
        /// What there are too many of, such as "tensors".
        what: &'static str,
        /// The value of the limit.
        allowed: u64,
        /// The value needed; a lower bound if the index was not read to its end.
        needed: u64,
    },
    /// The name of a shard leads, on this system or another, to something other than a file in the directory
    /// of the index.
    UnsafeName {
        /// The name.
        name: String,
        /// The reason.
        reason: &'static str,
    },
    /// This shard of the model to replace has the name of a new one. Nothing was written.
    ShardInUse(String),
    /// `total_size` is not a number of bytes. Its JSON begins with these characters, at most 40.
    NoSize(String),
    /// The limit on open files is too low: all shards are open at the same time. Raise the limit, for example
    /// with `ulimit -n`.
    TooManyOpen {
        /// The number of open shards.
        open: usize,
        /// The number of shards.
        shards: usize,
        /// The error of the system.
        error: io::Error,
    },
    /// A shard that the index lists does not exist.
    MissingShard {
        /// Its name.
        shard: String,
        /// The number of its tensors in the index.
        tensors: usize,
    },
    /// A tensor is in two shards, in another one than the index lists, in none, or not in the index.
    Tensor {
        /// The tensor.
        tensor: String,
        /// Where it is, and where it should be.
        place: String,
        /// The total number of such tensors, unless it is in two shards.
        count: usize,
    },
    /// `total_size` is not the length of the tensors.
    TotalSize {
        /// The value in the index.
        said: u64,
        /// The length of all tensors in bytes.
        found: u64,
    },
}

impl ShardErrorKind {
    pub(crate) fn class(&self) -> Class {
        match self {
            Self::Limit { .. } | Self::TooManyOpen { .. } => Class::Limit,
            Self::NoIndex | Self::ManyIndexes { .. } | Self::ShardInUse { .. } => Class::Usage,
            _ => Class::File,
        }
    }

    pub(crate) fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::TooManyOpen { error, .. } => error.kind(),
            Self::Limit { .. } => io::ErrorKind::FileTooLarge,
            Self::NoIndex | Self::MissingShard { .. } => io::ErrorKind::NotFound,
            Self::ShardInUse { .. } => io::ErrorKind::AlreadyExists,
            Self::ManyIndexes { .. } => io::ErrorKind::InvalidInput,
            _ => io::ErrorKind::InvalidData,
        }
    }
}

impl fmt::Display for ShardErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoIndex => f.write_str("it has no *.safetensors.index.json, nor a single *.safetensors"),
            Self::ManyIndexes([one, other]) => {
                write!(f, "it has more than one index: {one:?} and {other:?}")
            }
            Self::Json { line, column, reason } => {
                write!(f, "not an index, at line {line}, column {column}: {reason}")
            }
            Self::Duplicate(name) => write!(f, "duplicate {name:?}"),
            Self::Limit { what, allowed, needed } => {
                write!(f, "too many {what}: {needed} or more, at most {allowed} are allowed")
            }
            Self::UnsafeName { name, reason } => write!(f, "unsafe shard name {name:?}: {reason}"),
            Self::ShardInUse(shard) => {
                write!(
                    f,
                    "the existing model also has a shard {shard:?}, \
                     and shards cannot be replaced atomically"
                )
            }
            Self::NoSize(found) => write!(f, "total_size is {found}, which is not a number of bytes"),
            Self::TooManyOpen { open, shards, error } => {
                write!(
                    f,
                    "only {open} of its {shards} shards can be open at once, \
                     because of the limit on open files: {error}"
                )
            }
            Self::MissingShard { shard, tensors } => {
                write!(f, "shard {shard:?}, which has {tensors} of the tensors, is missing")
            }
            Self::TotalSize { said, found } => {
                write!(f, "total_size is {said}, but the tensors have {found} bytes")
            }
            Self::Tensor { tensor, place, count: 0 | 1 } => write!(f, "tensor {tensor:?} {place}"),
            Self::Tensor { tensor, place, count } => {
                write!(f, "tensor {tensor:?} {place} ({count} such tensors)")
            }
        }
    }
}

impl core::error::Error for ShardErrorKind {}
