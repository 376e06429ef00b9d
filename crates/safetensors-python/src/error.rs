//! The errors that Python sees: one class for files and arguments, and `OSError` when the system fails.

use embedded_safetensors::file::shared::read_up_to;
use embedded_safetensors::file::{FileError, FileErrorKind};
use embedded_safetensors::header::{Event, HeaderParser};
use embedded_safetensors::write::SpecPart;
use embedded_safetensors::{Error, ErrorKind};
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use safetensors_files::checkpoint::{CheckpointError, CheckpointErrorKind};
use safetensors_files::shards::{ShardError, ShardErrorKind};
use safetensors_files::{EditError, EditErrorKind};
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::path::Path;

create_exception!(
    embedded_safetensors,
    SafetensorError,
    PyValueError,
    "A file is invalid, or such a file is impossible, or an argument is wrong.\n\n\
     code: the code of the error, such as \"json.end\", or None.\n\
     byte: the offset in the file where it was found, or None.\n\
     tensor: the name of the tensor concerned, or None."
);

/// Returns the class, whose members are None by default.
pub fn class(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let class = py.get_type::<SafetensorError>();
    ["code", "byte", "tensor"].iter().try_for_each(|member| class.setattr(member, py.None()))?;
    Ok(class)
}

/// An error on its way to Python.
pub enum Failure {
    /// Of a call of Python.
    Python(PyErr),
    /// Of a call of the system: its number, if any, the reason, and the path.
    System(Option<i32>, String, String),
    /// A [`SafetensorError`].
    Said(Box<Said>),
}

/// The members of a [`SafetensorError`].
#[derive(Default)]
pub struct Said {
    sentence: String,
    found: Option<Error>,
    tensor: Option<String>,
}

impl Failure {
    /// Creates a [`SafetensorError`] without code and byte.
    pub fn say(sentence: impl Display) -> Self {
        Self::Said(Box::new(Said { sentence: sentence.to_string(), ..Said::default() }))
    }

    /// Creates a [`SafetensorError`] about a tensor.
    pub fn of_tensor(name: &str, reason: impl Display) -> Self {
        let (sentence, tensor) = (format!("tensor {name:?}: {reason}"), Some(name.to_owned()));
        Self::Said(Box::new(Said { sentence, tensor, ..Said::default() }))
    }

    /// Creates the error of a name that a file does not have.
    pub fn missing(name: &str) -> Self {
        let (sentence, tensor) = (format!("there is no tensor {name:?}"), Some(name.to_owned()));
        Self::Said(Box::new(Said { sentence, tensor, ..Said::default() }))
    }

    /// Adds the name of the tensor to a [`SafetensorError`].
    pub fn about(self, name: &str) -> Self {
        match self {
            Self::Said(said) if said.tensor.is_none() => Self::of_tensor(name, said.sentence),
            other => other,
        }
    }

    /// Creates the error of an invalid file whose header is in memory.
    pub fn of_bytes(error: Error, bytes: &[u8]) -> Self {
        let tensor = tensor_at(bytes, error.at);
        Self::Said(Box::new(Said { sentence: error.to_string(), found: Some(error), tensor }))
    }

    /// Creates the error of a request about a tensor of a valid file, such as for a slice outside it.
    pub fn of_request(name: &str, error: Error) -> Self {
        let (sentence, tensor) = (format!("tensor {name:?}: {}", error.kind), Some(name.to_owned()));
        Self::Said(Box::new(Said { sentence, found: Some(error), tensor }))
    }

    /// Creates the error of an impossible file that has no path.
    pub fn of_edit(kind: &EditErrorKind) -> Self {
        let (sentence, tensor) = (kind.to_string(), tensor_of(kind));
        Self::Said(Box::new(Said { sentence, found: None, tensor }))
    }

    fn of_system(path: &Path, error: &io::Error) -> Self {
        let sentence = error.to_string();
        let reason = sentence.split(" (os error").next().unwrap_or(&sentence).to_owned();
        Self::System(error.raw_os_error(), reason, path.display().to_string())
    }

    fn of_file(path: &Path, kind: &FileErrorKind, sentence: String) -> Self {
        let (found, tensor) = match kind {
            FileErrorKind::System { error, .. } => return Self::of_system(path, error),
            FileErrorKind::Format(error) => {
                let header = header_up_to(path, error.at).unwrap_or_default();
                (Some(*error), tensor_at(&header, error.at))
            }
            FileErrorKind::Duplicate {
                error: error @ Error { kind: ErrorKind::DuplicateName, .. },
                name,
            } => (Some(*error), Some(name.clone())),
            FileErrorKind::Duplicate { error, .. } => (Some(*error), None),
            _ => (None, None),
        };
        Self::Said(Box::new(Said { sentence, found, tensor }))
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::of_file(error.path(), error.kind(), error.to_string())
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        Self::from(&error)
    }
}

impl From<&EditError> for Failure {
    fn from(error: &EditError) -> Self {
        match error.kind() {
            EditErrorKind::File(kind) => Self::of_file(error.path(), kind, error.to_string()),
            EditErrorKind::Input(reason) => Self::of_system(error.path(), reason),
            kind => {
                let (sentence, tensor) = (error.to_string(), tensor_of(kind));
                Self::Said(Box::new(Said { sentence, found: None, tensor }))
            }
        }
    }
}

/// Returns the name of the tensor that the error is about.
fn tensor_of(kind: &EditErrorKind) -> Option<String> {
    match kind {
        EditErrorKind::Spec { error, name } if matches!(error.part, SpecPart::Tensor(_)) => Some(name),
        EditErrorKind::NoSuchTensor { name }
        | EditErrorKind::TooManyBytes { name, .. }
        | EditErrorKind::MissingBytes { name, .. }
        | EditErrorKind::WrittenTwice { name }
        | EditErrorKind::WrongDtype { name, .. } => Some(name),
        _ => None,
    }
    .cloned()
}

impl From<ShardError> for Failure {
    fn from(error: ShardError) -> Self {
        let tensor = match error.kind() {
            ShardErrorKind::TensorTwice { tensor, .. }
            | ShardErrorKind::MissingTensor { tensor, .. }
            | ShardErrorKind::ExtraTensor { tensor, .. }
            | ShardErrorKind::WrongShard { tensor, .. } => Some(tensor.clone()),
            _ => None,
        };
        match error.kind() {
            ShardErrorKind::File(error) => error.into(),
            _ => Self::Said(Box::new(Said { sentence: error.to_string(), found: None, tensor })),
        }
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        match error.kind() {
            CheckpointErrorKind::File(error) => error.into(),
            _ => Self::say(error),
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Python(error) => error,
            // Python chooses the subclass for the number.
            Failure::System(Some(number), reason, path) => PyOSError::new_err((number, reason, path)),
            Failure::System(None, reason, path) => PyOSError::new_err(format!("{path}: {reason}")),
            Failure::Said(said) => Python::attach(|py| said.raise(py).unwrap_or_else(|error| error)),
        }
    }
}

impl Said {
    fn raise(self, py: Python<'_>) -> PyResult<PyErr> {
        let error = SafetensorError::new_err(self.sentence);
        let value = error.value(py);
        value.setattr("code", self.found.map(|found| found.kind.code()))?;
        value.setattr("byte", self.found.map(|found| found.at))?;
        value.setattr("tensor", self.tensor)?;
        Ok(error)
    }
}

/// Bytes that are read after the one with the error: enough for the rest of most names.
const AFTER: u64 = 1 << 16;

/// Reads a file up to the byte of an error in its header, and a little more.
fn header_up_to(path: &Path, at: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let end = file
        .metadata()?
        .len()
        .min(at.saturating_add(AFTER))
        .min(embedded_safetensors::header::MAX_HEADER_LEN);
    let mut bytes = vec![0; usize::try_from(end).unwrap_or(0)];
    let present = read_up_to(&mut &file, 0, &mut bytes)?;
    bytes.truncate(present);
    Ok(bytes)
}

/// Returns the name of the tensor whose entry contains byte `at`: from the opening quote of the name to the
/// closing brace.
fn tensor_at(header: &[u8], at: u64) -> Option<String> {
    let (mut parser, mut input) = (HeaderParser::new(), header);
    let (mut name, mut is_in_entry) = (Vec::new(), false);
    loop {
        match parser.next(&mut input) {
            Ok(Event::Name(piece)) => name.extend(piece.as_bytes()),
            Ok(Event::Metadata) => name.clear(),
            Ok(Event::Tensor) if parser.event_start() > at => return None,
            Ok(Event::Tensor) => is_in_entry = true,
            Ok(Event::TensorEnd) if parser.event_start() < at => {
                is_in_entry = false;
                name.clear();
            }
            Ok(Event::TensorEnd | Event::NeedInput | Event::HeaderEnd) | Err(_) => break,
            Ok(_) => {}
        }
    }
    is_in_entry.then(|| String::from_utf8_lossy(&name).into_owned())
}
