//! The error of this crate: one sentence, with the path.

use crate::checkpoint::CheckpointErrorKind;
use crate::shards::ShardErrorKind;
use core::fmt;
use embedded_safetensors::error::Class;
use embedded_safetensors::file::shared::PADDING;
use embedded_safetensors::file::{FileError, FileErrorKind};
use embedded_safetensors::integrity::KEY;
use embedded_safetensors::write::{SpecError, SpecErrorKind, SpecPart};
use embedded_safetensors::{Dtype, ErrorKind};
use std::io;
use std::path::{Path, PathBuf};

/// Why a file, a model in several files or a checkpoint could not be read, written, edited or recovered.
///
/// Its `Display` is one sentence with the path, the attempted action, and the reason. `?` also converts it to
/// an [`io::Error`]. Its kind is that of the system's error; [`InvalidData`](io::ErrorKind::InvalidData) for
/// a file, an index or a checkpoint that is invalid, was changed, or is being edited;
/// [`FileTooLarge`](io::ErrorKind::FileTooLarge) for an index or a list that exceeds a limit;
/// [`NotFound`](io::ErrorKind::NotFound) for a missing index, shard, list or file of a checkpoint;
/// [`AlreadyExists`](io::ErrorKind::AlreadyExists) for a shard in use; [`Other`](io::ErrorKind::Other) for a
/// stopped copy; [`InvalidInput`](io::ErrorKind::InvalidInput) for all others, which are errors of the
/// caller.
///
/// *Memory*: at most 112 bytes, and its texts on the heap.
#[derive(Debug)]
pub struct EditError {
    path: PathBuf,
    kind: EditErrorKind,
}

/// The reason of an [`EditError`].
///
/// *Memory*: at most 88 bytes, and its texts on the heap.
#[derive(Debug)]
#[non_exhaustive]
pub enum EditErrorKind {
    /// The file cannot be read, or a call of the system failed.
    File(FileErrorKind),
    /// The source of the tensors' bytes has failed, such as a reader that is copied from.
    Input(io::Error),
    /// A model in several files is invalid, exceeds a limit, or cannot be replaced.
    Shards(ShardErrorKind),
    /// A directory does not match its list of sums.
    Checkpoint(CheckpointErrorKind),
    /// The path is this kind of file, and not a directory.
    NotAFolder(&'static str),
    /// The directory is not replaced, because it has files, but no `SHA256SUMS`.
    NotACheckpoint,
    /// The name is not allowed because it leads, on this system or another, to something other than a file in
    /// its directory.
    UnsafeName {
        /// The name.
        name: String,
        /// Why it is not allowed.
        reason: &'static str,
    },
    /// Such a file is impossible.
    Spec {
        /// Why.
        error: SpecError,
        /// The name of the tensor, or the key; empty for the entire file.
        name: String,
    },
    /// There is no tensor of this name.
    NoSuchTensor(String),
    /// More bytes were given than the tensor has left. None of these were written.
    TooManyBytes {
        /// The tensor.
        name: String,
        /// The number of bytes left.
        left: u64,
        /// The number of bytes given.
        given: u64,
    },
    /// The tensor has not received all of its bytes.
    MissingBytes {
        /// The tensor.
        name: String,
        /// The number of bytes given.
        given: u64,
        /// The number of bytes needed.
        needed: u64,
    },
    /// A complete tensor was given, but this tensor already has bytes.
    WrittenTwice(String),
    /// The values are of another type than the elements of the tensor.
    WrongDtype {
        /// The tensor.
        name: String,
        /// The dtype of the tensor.
        dtype: Dtype,
        /// The dtype given.
        given: Dtype,
    },
    /// The values have another shape than the tensor or the slice that they are for.
    WrongShape {
        /// The tensor.
        name: String,
        /// The shape of the tensor or the slice.
        shape: Vec<u64>,
        /// The shape given.
        given: Vec<u64>,
    },
    /// The tensor has no such slice.
    Slice {
        /// The tensor.
        name: String,
        /// Why.
        kind: ErrorKind,
    },
    /// An earlier write of this file has failed, so it cannot be completed.
    Unfinished,
    /// Another tensor has this name.
    NameTaken {
        /// The name.
        name: String,
        /// The file with the other tensor.
        other: PathBuf,
    },
    /// Both files have this key of `__metadata__`, with different values.
    KeyTaken {
        /// The key.
        key: String,
        /// The other file.
        other: PathBuf,
    },
    /// [`embed_sum`](crate::ModelEditor::embed_sum) was called, and then the key of the sum was set.
    SumSet,
    /// It would have to be copied, but was to be [saved in place](crate::ModelEditor::set_in_place_only).
    NotInPlace,
    /// No tensor can have this name.
    ReservedName(String),
    /// The copy was stopped by the caller's `watch` function.
    Stopped,
    /// This undo file beside the file belongs to another version of it.
    ForeignUndo(PathBuf),
}

impl EditError {
    /// Returns the path as given: of the file, or else of the index or the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the reason.
    pub fn kind(&self) -> &EditErrorKind {
        &self.kind
    }

    /// Returns the reason without the path.
    pub fn into_kind(self) -> EditErrorKind {
        self.kind
    }

    /// Replaces the temporary directory in the path by the final one.
    pub(crate) fn moved(mut self, from: &Path, to: &Path) -> Self {
        if let Ok(rest) = self.path.strip_prefix(from) {
            self.path = to.join(rest);
        }
        self
    }

    /// Adds the path of the output file to an error of an input, which has none.
    pub(crate) fn or_with_path(self, path: &Path) -> Self {
        if self.path.as_os_str().is_empty() { self.kind.of(path) } else { self }
    }
}

impl EditErrorKind {
    pub(crate) const CHANGED: Self = Self::File(FileErrorKind::Changed);

    pub(crate) fn of(self, path: &Path) -> EditError {
        EditError { path: path.to_path_buf(), kind: self }
    }

    pub(crate) fn system(action: &'static str, error: io::Error) -> Self {
        Self::File(FileErrorKind::System { action, error })
    }

    /// Creates the error of a path that cannot be resolved.
    pub(crate) fn unresolved(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::system("find the directory of", error),
            _ => Self::system("resolve the path of", error),
        }
    }

    /// Returns the class of the error: whether to fix the files, a limit or the call. `None` if the system or
    /// an input failed.
    pub fn class(&self) -> Option<Class> {
        match self {
            Self::File(FileErrorKind::System { .. }) | Self::Input(_) => None,
            Self::File(FileErrorKind::Format(_) | FileErrorKind::Duplicate { .. }) => Some(Class::File),
            Self::Shards(kind) => Some(kind.class()),
            Self::Checkpoint(kind) => Some(kind.class()),
            _ => Some(Class::Usage),
        }
    }

    fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::File(kind) => kind.io_kind(),
            Self::Input(error) => error.kind(),
            Self::Shards(kind) => kind.io_kind(),
            Self::Checkpoint(kind) => kind.io_kind(),
            Self::ForeignUndo { .. } => io::ErrorKind::InvalidData,
            Self::Stopped => io::ErrorKind::Other,
            _ => io::ErrorKind::InvalidInput,
        }
    }
}

/// Adds what was attempted to an error of the system.
pub(crate) trait Doing<T> {
    fn doing(self, action: &'static str) -> Result<T, EditErrorKind>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, action: &'static str) -> Result<T, EditErrorKind> {
        self.map_err(|error| EditErrorKind::system(action, error))
    }
}

/// Adds the path to an error.
pub(crate) trait At<T> {
    fn at(self, path: &Path) -> Result<T, EditError>;
}

impl<T, K: Into<EditErrorKind>> At<T> for Result<T, K> {
    fn at(self, path: &Path) -> Result<T, EditError> {
        self.map_err(|kind| kind.into().of(path))
    }
}

impl From<FileErrorKind> for EditErrorKind {
    fn from(kind: FileErrorKind) -> Self {
        Self::File(kind)
    }
}

impl From<ShardErrorKind> for EditErrorKind {
    fn from(kind: ShardErrorKind) -> Self {
        Self::Shards(kind)
    }
}

impl From<CheckpointErrorKind> for EditErrorKind {
    fn from(kind: CheckpointErrorKind) -> Self {
        Self::Checkpoint(kind)
    }
}

impl From<FileError> for EditError {
    fn from(error: FileError) -> Self {
        let (path, kind) = error.into_parts();
        Self { path, kind: kind.into() }
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            kind if self.path.as_os_str().is_empty() => kind.fmt(f),
            EditErrorKind::File(FileErrorKind::System { action, error }) => {
                write!(f, "cannot {action} {path}: {error}")
            }
            EditErrorKind::Input(error) => write!(f, "cannot read the input for {path}: {error}"),
            kind => write!(f, "{path}: {kind}"),
        }
    }
}

impl fmt::Display for EditErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(kind) => kind.fmt(f),
            Self::Input(error) => write!(f, "cannot read its input: {error}"),
            Self::Shards(kind) => kind.fmt(f),
            Self::Checkpoint(kind) => kind.fmt(f),
            Self::NotAFolder(what) => write!(f, "it is {what}, not a directory"),
            Self::NotACheckpoint => {
                f.write_str("not a checkpoint: it has no SHA256SUMS; refusing to replace it")
            }
            Self::UnsafeName { name, reason } => write!(f, "unsafe file name {name:?}: {reason}"),
            Self::Spec { error, name } => write_spec(f, *error, name),
            Self::NoSuchTensor(name) => write!(f, "it has no tensor {name:?}"),
            Self::WrittenTwice(name) => write!(f, "tensor {name:?} already has bytes"),
            Self::TooManyBytes { name, left, given } => {
                write!(f, "tensor {name:?}: {} more needed, {given} given", Bytes(*left))
            }
            Self::MissingBytes { name, given, needed } => {
                write!(f, "tensor {name:?}: {} needed, {given} given", Bytes(*needed))
            }
            Self::WrongDtype { name, dtype, given } => {
                write!(f, "tensor {name:?} is {dtype}, but the values are {given}")
            }
            Self::WrongShape { name, shape, given } => {
                write!(f, "tensor {name:?}: shape {shape:?} needed, {given:?} given")
            }
            Self::Slice { name, kind } => write!(f, "tensor {name:?}: {kind}"),
            Self::Unfinished => f.write_str("an earlier write of it failed, so it cannot be completed"),
            Self::NameTaken { name, other } => {
                write!(f, "tensor {name:?} is already in {}", other.display())
            }
            Self::KeyTaken { key, other } => {
                write!(f, "the key {key:?} has another value in {}", other.display())
            }
            Self::SumSet => write!(f, "the key {KEY:?} was set after embed_sum, which computes its value"),
            Self::NotInPlace => f.write_str(
                "cannot be changed in place: its name is too long, its header has no space for the changes, \
                     or another file has the name of its undo file",
            ),
            Self::ReservedName(name) => write!(f, "reserved name: {name:?}"),
            Self::Stopped => f.write_str("it was stopped before it was complete"),
            Self::ForeignUndo(undo) => {
                write!(f, "{} belongs to another version of the file", undo.display())
            }
        }
    }
}

/// Writes names instead of array indices, which mean nothing to the user of a file.
fn write_spec(f: &mut fmt::Formatter<'_>, error: SpecError, name: &str) -> fmt::Result {
    match (error.part, error.kind) {
        (SpecPart::File, kind) => write!(f, "{kind}"),
        (_, SpecErrorKind::DuplicateName { .. }) => write!(f, "duplicate name {name:?}"),
        (_, SpecErrorKind::DuplicateKey { .. }) => write!(f, "duplicate key {name:?}"),
        (_, SpecErrorKind::Reserved) if name.starts_with(PADDING) => {
            write!(f, "reserved name in a padded file: {name:?}")
        }
        (_, SpecErrorKind::Reserved) => write!(f, "reserved name: {name:?}"),
        (_, kind) => write!(f, "{name:?}: {kind}"),
    }
}

/// A number of bytes.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 byte"),
            many => write!(f, "{many} bytes"),
        }
    }
}

impl core::error::Error for EditError {}

impl From<EditError> for io::Error {
    fn from(error: EditError) -> Self {
        Self::new(error.kind.io_kind(), error)
    }
}

/// Converts an error of an input. An error of this crate that was converted to an [`io::Error`] becomes
/// itself again.
impl From<io::Error> for EditError {
    fn from(error: io::Error) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(own) => return own,
            Err(error) => error,
        };
        match error.downcast::<FileError>() {
            Ok(own) => own.into(),
            Err(error) => Self { path: PathBuf::new(), kind: EditErrorKind::Input(error) },
        }
    }
}
