//! Why a model in several files cannot be read: one sentence, with its path.

use super::limits::ShardLimit;
use crate::error::{EditError, EditErrorKind};
use core::fmt;
use embedded_safetensors::error::Class;
use embedded_safetensors::file::FileErrorKind;
use std::io;
use std::path::{Path, PathBuf};

/// Why a model in several files cannot be read, or written.
///
/// It is one sentence with the path of the index, or of the shard that cannot be opened. `?` turns it into an [`io::Error`], too, of the kind that a
/// [`EditError`] has; [`InvalidData`](io::ErrorKind::InvalidData) for an index that is no good or does not fit its shards;
/// [`FileTooLarge`](io::ErrorKind::FileTooLarge) for one that exceeds a limit.
///
/// *Memory*: at most 144 bytes, and its texts on the heap.
#[derive(Debug)]
pub struct ShardError {
    path: PathBuf,
    kind: ShardErrorKind,
}

/// What is wrong.
///
/// *Memory*: at most 120 bytes, and its texts on the heap.
#[derive(Debug)]
#[non_exhaustive]
pub enum ShardErrorKind {
    /// A shard cannot be read or is unsound, or the index cannot be read or written.
    File(EditError),
    /// The folder has no index.
    NoIndex,
    /// The folder has more than one index, none of them of the usual name.
    ManyIndexes {
        /// Two of them.
        names: [String; 2],
    },
    /// The index is not JSON, or not that of an index.
    Json {
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in bytes; 0 before the first byte of a line.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The index has a member twice.
    Twice {
        /// Its name: of a tensor, or of what is in `metadata`, or of the whole.
        name: String,
    },
    /// The index exceeds a limit. It may be sound.
    Limit {
        /// Which.
        limit: ShardLimit,
        /// How high it is.
        allowed: u64,
        /// How high it would have to be; at least so high, where the index is longer than is read.
        needed: u64,
    },
    /// The name of a shard leads, or might lead on another system, to something else than a file in the folder of the index.
    UnsafeName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A shard of the model that is to be replaced has the name of one that would be written. Nothing was written.
    ShardInUse {
        /// Its name, as the index that is there has it.
        shard: String,
    },
    /// `total_size` is no number of bytes.
    NoSize {
        /// What it is, as JSON: the first 40 characters.
        found: String,
    },
    /// The system lets no more files be open: all shards are open at once. A higher limit of open files, such as `ulimit -n` sets, helps.
    TooManyOpen {
        /// How many shards are open.
        open: usize,
        /// How many there are.
        shards: usize,
        /// What the system says.
        error: io::Error,
    },
    /// There is no file of a shard that the index names.
    MissingShard {
        /// Its name.
        shard: String,
        /// How many tensors the index puts into it.
        tensors: usize,
    },
    /// Two shards have a tensor of one name.
    TensorTwice {
        /// The tensor.
        tensor: String,
        /// The shards.
        shards: [String; 2],
    },
    /// The index puts a tensor into a shard that does not have it, and no other has it.
    MissingTensor {
        /// The tensor.
        tensor: String,
        /// The shard.
        shard: String,
        /// How many tensors are missing altogether.
        count: usize,
    },
    /// A shard has a tensor that the index does not name.
    ExtraTensor {
        /// The tensor.
        tensor: String,
        /// The shard.
        shard: String,
        /// How many such tensors there are altogether.
        count: usize,
    },
    /// The index puts a tensor into one shard, and another has it.
    WrongShard {
        /// The tensor.
        tensor: String,
        /// What the index says.
        named: String,
        /// Where it is.
        found: String,
        /// How many such tensors there are altogether.
        count: usize,
    },
    /// `total_size` is not what the tensors have.
    TotalSize {
        /// What the index says.
        said: u64,
        /// How many bytes all tensors have together.
        found: u64,
    },
}

impl ShardError {
    /// The index or folder, by the path that was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong.
    pub fn kind(&self) -> &ShardErrorKind {
        &self.kind
    }

    pub(super) fn into_fault(self) -> ShardErrorKind {
        self.kind
    }
}

impl ShardErrorKind {
    pub(crate) fn of(self, path: &Path) -> ShardError {
        ShardError { path: path.to_path_buf(), kind: self }
    }

    pub(super) fn system(action: &'static str, path: &Path, error: io::Error) -> Self {
        Self::File(EditErrorKind::system(action, error).of(path))
    }

    /// Who can mend it: whoever made the files, or whoever set a limit. Nothing where the system failed, or what was asked for was not there.
    pub fn class(&self) -> Option<Class> {
        match self {
            Self::File(error) => match error.kind() {
                EditErrorKind::File(FileErrorKind::Format(_) | FileErrorKind::Twice { .. }) => {
                    Some(Class::File)
                }
                EditErrorKind::File(FileErrorKind::System { .. }) | EditErrorKind::Input(_) => None,
                _ => Some(Class::Usage),
            },
            Self::Limit { .. } | Self::TooManyOpen { .. } => Some(Class::Limit),
            Self::NoIndex | Self::ManyIndexes { .. } | Self::ShardInUse { .. } => Some(Class::Usage),
            _ => Some(Class::File),
        }
    }
}

impl fmt::Display for ShardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ShardErrorKind::File(error) => error.fmt(f),
            fault => write!(f, "{}: {fault}", self.path.display()),
        }
    }
}

impl fmt::Display for ShardErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::NoIndex => f.write_str("there is no *.safetensors.index.json in it"),
            Self::ManyIndexes { names: [one, other] } => {
                write!(f, "there is more than one index in it, {one:?} and {other:?}")
            }
            Self::Json { line, column, reason } => {
                write!(f, "it is no index, at line {line}, column {column}: {reason}")
            }
            Self::Twice { name } => write!(f, "{name:?} is there twice"),
            Self::Limit { limit, allowed, needed } => {
                let noun = limit.noun();
                write!(f, "it has {needed} {noun} or more, and only {allowed} are allowed")
            }
            Self::UnsafeName { name, reason } => write!(f, "no shard may be called {name:?}: {reason}"),
            Self::ShardInUse { shard } => {
                write!(
                    f,
                    "the model that is there has a shard {shard:?}, too, and shards cannot all be replaced at once"
                )
            }
            Self::NoSize { found } => write!(f, "total_size is {found}, which is no number of bytes"),
            Self::TooManyOpen { open, shards, error } => {
                write!(
                    f,
                    "only {open} of its {shards} shards can be open at once, because of the limit of open files: {error}"
                )
            }
            Self::MissingShard { shard, tensors } => {
                write!(f, "the shard {shard:?} is not there, which is to have {tensors} of the tensors")
            }
            Self::TotalSize { said, found } => {
                write!(f, "total_size is {said}, but the tensors have {found} bytes")
            }
            about => about.write_tensor(f),
        }
    }
}

impl ShardErrorKind {
    fn write_tensor(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TensorTwice { tensor, shards: [one, other] } => {
                write!(f, "the tensor {tensor:?} is in two shards, {one:?} and {other:?}")
            }
            Self::MissingTensor { tensor, shard, count } => {
                write!(f, "the tensor {tensor:?} is not in {shard:?}, nor in another shard{}", More(*count))
            }
            Self::ExtraTensor { tensor, shard, count } => {
                write!(f, "the tensor {tensor:?} in {shard:?} is not in the index{}", More(*count))
            }
            Self::WrongShard { tensor, named, found, count } => {
                write!(f, "the tensor {tensor:?} is in {found:?}, not in {named:?}{}", More(*count))
            }
            _ => Ok(()),
        }
    }
}

/// That it is not the only one.
struct More(usize);

impl fmt::Display for More {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 | 1 => Ok(()),
            count => write!(f, " ({count} such tensors)"),
        }
    }
}

impl core::error::Error for ShardError {}

impl From<ShardError> for io::Error {
    fn from(error: ShardError) -> Self {
        let kind = match error.kind {
            ShardErrorKind::File(error) => return error.into(),
            ShardErrorKind::TooManyOpen { ref error, .. } => error.kind(),
            ShardErrorKind::Limit { .. } => io::ErrorKind::FileTooLarge,
            ShardErrorKind::NoIndex | ShardErrorKind::MissingShard { .. } => io::ErrorKind::NotFound,
            ShardErrorKind::ShardInUse { .. } => io::ErrorKind::AlreadyExists,
            ShardErrorKind::ManyIndexes { .. } => io::ErrorKind::InvalidInput,
            _ => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}
