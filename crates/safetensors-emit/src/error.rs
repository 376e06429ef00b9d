//! Errors, one sentence each.

use embedded_safetensors::file::{FileError, FileErrorKind};
use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// The end of the name of an index, which lists the files of a model.
const INDEX_END: &str = ".index.json";

/// Why there are no constants.
///
/// Its `Debug` is the sentence of its `Display`, because that is what cargo shows of an error that `main` of
/// a `build.rs` returns.
#[non_exhaustive]
pub enum EmitError {
    /// The model is missing or invalid, cannot be read, or has changed while it was read.
    Model(FileError),
    /// The path is the index or the directory of a model in several files.
    SeveralFiles(PathBuf),
    /// No identifier can begin with this prefix.
    Prefix(String),
    /// The model would end past the last address.
    Address {
        /// The address of the model.
        address: u64,
        /// The length of the model.
        file_bytes: u64,
    },
    /// `OUT_DIR` is not set: the program is not a `build.rs` that cargo runs.
    NotInBuildScript,
    /// A path cannot be written in a line of `cargo:rerun-if-changed`.
    Unwatchable(PathBuf),
    /// The output has the name of another model's, which would be overwritten.
    SameOutput {
        /// The path of the output.
        output: PathBuf,
        /// The model that it was written for, and the other one.
        models: [PathBuf; 2],
    },
    /// The output cannot be written.
    Output {
        /// The path of the output.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(error) => error.fmt(f),
            Self::SeveralFiles(path) => write!(
                f,
                "{}: is an index or a directory of several files, but a device needs one; use `safetensors \
                 join`",
                path.display()
            ),
            Self::Prefix(prefix) => write!(
                f,
                "not a valid prefix: {prefix:?}; use letters, digits and `_`, beginning with a letter"
            ),
            Self::Address { address, file_bytes } => write!(
                f,
                "the model would end past the last address: it has {file_bytes} bytes, at {address:#010x}"
            ),
            Self::NotInBuildScript => f.write_str("OUT_DIR is not set: call this from build.rs"),
            Self::Unwatchable(path) => write!(
                f,
                "cargo cannot watch {path:?}: a path in UTF-8 is needed, without line breaks and without \
                 spaces at its end"
            ),
            Self::SameOutput { output, models: [first, second] } => write!(
                f,
                "{}: written for {}, and {} has the same name; rename one of them",
                output.display(),
                first.display(),
                second.display()
            ),
            Self::Output { path, error } => write!(f, "cannot write {}: {error}", path.display()),
        }
    }
}

impl fmt::Debug for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for EmitError {}

impl From<FileError> for EmitError {
    fn from(error: FileError) -> Self {
        let is_index = || error.path().to_string_lossy().ends_with(INDEX_END);
        match error.kind() {
            FileErrorKind::NotAFile { .. } if error.path().is_dir() => {
                Self::SeveralFiles(error.into_parts().0)
            }
            FileErrorKind::Format(_) if is_index() => Self::SeveralFiles(error.into_parts().0),
            _ => Self::Model(error),
        }
    }
}
