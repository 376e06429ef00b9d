//! Why a file could not be written, edited or put back: one sentence, with its path.

use core::fmt;
use embedded_safetensors::Dtype;
use embedded_safetensors::file::shared::PADDING;
use embedded_safetensors::file::{FileError, FileErrorKind};
use embedded_safetensors::write::{SpecError, SpecErrorKind, SpecPart};
use std::io;
use std::path::{Path, PathBuf};

/// Why a file could not be written, edited or put back.
///
/// It is one sentence with the path, what was tried, and what is wrong. `?` turns it into an [`io::Error`], too, of the kind
/// that the system gave; [`InvalidData`](io::ErrorKind::InvalidData) for a file that is unsound, was changed, or is being edited;
/// [`Other`](io::ErrorKind::Other) for what was stopped; [`InvalidInput`](io::ErrorKind::InvalidInput) for all else, which are the caller's mistakes.
///
/// *Memory*: at most 112 bytes, and its texts on the heap.
#[derive(Debug)]
pub struct EditError {
    path: PathBuf,
    kind: EditErrorKind,
}

/// What is wrong.
///
/// *Memory*: at most 88 bytes, and its texts on the heap.
#[derive(Debug)]
#[non_exhaustive]
pub enum EditErrorKind {
    /// The file is not to be read, or the system could not do what was asked of it.
    File(FileErrorKind),
    /// What the bytes of the tensors come from has failed, such as a reader that is copied from.
    Input(io::Error),
    /// Something that is no folder is where one is to be.
    NotAFolder {
        /// What it is.
        what: &'static str,
    },
    /// No file may be called so, because the name leads, or might lead on another system, to something else than a file in its folder.
    UnsafeName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There can be no such file.
    Spec {
        /// Why.
        error: SpecError,
        /// The name of the tensor, or the key, that says so; empty for the file as a whole.
        name: String,
    },
    /// There is no tensor of this name.
    NoSuchTensor {
        /// The name.
        name: String,
    },
    /// More bytes were given than the tensor still takes. None of these were written.
    TooManyBytes {
        /// The tensor.
        name: String,
        /// How many it still takes.
        left: u64,
        /// How many were given.
        given: u64,
    },
    /// The tensor has not been given all of its bytes.
    MissingBytes {
        /// The tensor.
        name: String,
        /// How many it has been given.
        given: u64,
        /// How many it takes.
        needed: u64,
    },
    /// The tensor was to be written whole, and has bytes already.
    WrittenTwice {
        /// The tensor.
        name: String,
    },
    /// The values are of another type than the elements of the tensor.
    WrongDtype {
        /// The tensor.
        name: String,
        /// What its elements are.
        dtype: Dtype,
        /// What was given.
        given: Dtype,
    },
    /// An earlier write of this file has failed, so it cannot become whole.
    Unfinished,
    /// Another tensor has this name.
    NameTaken {
        /// The name.
        name: String,
        /// The file with the other tensor.
        other: PathBuf,
    },
    /// Both files have this key of `__metadata__`, with other values.
    KeyTaken {
        /// The key.
        key: String,
        /// The other file.
        other: PathBuf,
    },
    /// No tensor can have this name.
    ReservedName {
        /// The name.
        name: String,
    },
    /// It was stopped by who watched it.
    Stopped,
    /// What lies beside the file, to undo an interrupted edit of it, belongs to another version of it.
    ForeignUndo {
        /// Where it lies.
        undo: PathBuf,
    },
}

impl EditError {
    /// The file, by the path that was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong.
    pub fn kind(&self) -> &EditErrorKind {
        &self.kind
    }

    /// Of a file that was to be moved elsewhere: of the place where it would be.
    pub(crate) fn moved(mut self, from: &Path, to: &Path) -> Self {
        if let Ok(rest) = self.path.strip_prefix(from) {
            self.path = to.join(rest);
        }
        self
    }

    /// An error of what the bytes come from says by itself nothing of the file that they are for.
    pub(crate) fn or_of(self, path: &Path) -> Self {
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

    /// There is no place that the path leads to.
    pub(crate) fn no_place(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::system("find the folder of", error),
            _ => Self::system("find the place of", error),
        }
    }

    fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::File(fault) => fault.io_kind(),
            Self::Input(error) => error.kind(),
            Self::ForeignUndo { .. } => io::ErrorKind::InvalidData,
            Self::Stopped => io::ErrorKind::Other,
            _ => io::ErrorKind::InvalidInput,
        }
    }
}

impl From<FileErrorKind> for EditErrorKind {
    fn from(fault: FileErrorKind) -> Self {
        Self::File(fault)
    }
}

impl From<FileError> for EditError {
    fn from(error: FileError) -> Self {
        let (path, fault) = error.into_parts();
        Self { path, kind: fault.into() }
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            fault if self.path.as_os_str().is_empty() => fault.fmt(f),
            EditErrorKind::File(FileErrorKind::System { action, error }) => {
                write!(f, "cannot {action} {path}: {error}")
            }
            EditErrorKind::Input(error) => write!(f, "cannot read what {path} is to hold: {error}"),
            fault => write!(f, "{path}: {fault}"),
        }
    }
}

impl fmt::Display for EditErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(fault) => fault.fmt(f),
            Self::Input(error) => write!(f, "cannot read what it is to hold: {error}"),
            Self::NotAFolder { what } => write!(f, "it is {what}, not a folder"),
            Self::UnsafeName { name, reason } => write!(f, "no file may be called {name:?}: {reason}"),
            Self::Spec { error, name } => write_spec(f, *error, name),
            Self::NoSuchTensor { name } => write!(f, "it has no tensor {name:?}"),
            Self::WrittenTwice { name } => write!(f, "the tensor {name:?} has bytes already"),
            Self::TooManyBytes { name, left, given } => {
                write!(f, "the tensor {name:?} takes {} more, but {given} were given", Bytes(*left))
            }
            Self::MissingBytes { name, given, needed } => {
                write!(f, "the tensor {name:?} takes {}, but {given} were given", Bytes(*needed))
            }
            Self::WrongDtype { name, dtype, given } => {
                write!(f, "the tensor {name:?} is {dtype}, but the values are {given}")
            }
            Self::Unfinished => f.write_str("an earlier write of it failed, so it cannot become whole"),
            Self::NameTaken { name, other } => {
                write!(f, "there is a tensor {name:?} in {} already", other.display())
            }
            Self::KeyTaken { key, other } => {
                write!(f, "the key {key:?} has another value in {}", other.display())
            }
            Self::ReservedName { name } => write!(f, "no tensor can be called {name:?}"),
            Self::Stopped => f.write_str("it was stopped before it was whole"),
            Self::ForeignUndo { undo } => {
                write!(f, "{} does not belong to what the file is now", undo.display())
            }
        }
    }
}

/// With names for the places in arrays, of which whoever opens a file knows nothing.
fn write_spec(f: &mut fmt::Formatter<'_>, error: SpecError, name: &str) -> fmt::Result {
    match (error.part, error.kind) {
        (SpecPart::File, fault) => write!(f, "{fault}"),
        (_, SpecErrorKind::NameTwice { .. }) => write!(f, "{name:?}: an earlier tensor has the same name"),
        (_, SpecErrorKind::KeyTwice { .. }) => write!(f, "{name:?}: an earlier key is the same"),
        (_, SpecErrorKind::Reserved) if name.starts_with(PADDING) => {
            write!(f, "no tensor can be called {name:?} in a file that is padded")
        }
        (_, SpecErrorKind::Reserved) => write!(f, "no tensor can be called {name:?}"),
        (_, fault) => write!(f, "{name:?}: {fault}"),
    }
}

/// So many bytes.
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

/// What went wrong where the bytes of a file come from. An error of this crate that has been an [`io::Error`] on its way is
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
