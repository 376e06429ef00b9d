//! The errors that Python sees: one class for files and arguments, and `OSError` when the system fails.

use embedded_safetensors::file::shared::{read_up_to, refusal};
use embedded_safetensors::file::{FileError, FileErrorKind};
use embedded_safetensors::header::{Event, HeaderParser};
use embedded_safetensors::write::SpecPart;
use embedded_safetensors::{Error, ErrorKind};
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use safetensors_files::checkpoint::CheckpointErrorKind::NoSums;
use safetensors_files::shards::ShardErrorKind;
use safetensors_files::{EditError, EditErrorKind};
use safetensors_remote::{RemoteError, RemoteErrorKind};
use std::borrow::Cow;
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
    code: Option<&'static str>,
    byte: Option<u64>,
    tensor: Option<String>,
}

impl Said {
    fn new(sentence: impl Display) -> Self {
        Self { sentence: sentence.to_string(), ..Self::default() }
    }

    fn with_code(self, code: Option<&'static str>) -> Self {
        Self { code, ..self }
    }

    fn with_error(self, error: Error) -> Self {
        Self { byte: Some(error.at), ..self.with_code(Some(error.kind.code())) }
    }

    fn about(self, tensor: Option<String>) -> Self {
        Self { tensor, ..self }
    }

    /// Adds what is known of an error of a file. `header` returns its beginning, at least up to a byte.
    fn of_file<'h>(self, kind: &FileErrorKind, header: impl FnOnce(u64) -> Cow<'h, [u8]>) -> Self {
        match kind {
            FileErrorKind::Format(error) => {
                self.with_error(*error).about(tensor_at(&header(error.at), error.at))
            }
            FileErrorKind::Duplicate { error, name } => {
                let is_tensor = matches!(error.kind, ErrorKind::DuplicateName);
                self.with_error(*error).about(is_tensor.then(|| name.clone()))
            }
            FileErrorKind::Changed => self.with_code(Some(ErrorKind::Changed.code())),
            _ => self,
        }
    }
}

impl From<Said> for Failure {
    fn from(said: Said) -> Self {
        Self::Said(Box::new(said))
    }
}

impl Failure {
    /// Creates a [`SafetensorError`] without code and byte.
    pub fn say(sentence: impl Display) -> Self {
        Said::new(sentence).into()
    }

    /// Creates the error of an argument.
    pub fn of_argument(kind: ErrorKind, sentence: impl Display) -> Self {
        Said::new(sentence).with_code(Some(kind.code())).into()
    }

    /// Creates the error of values of another dtype.
    pub fn of_values(sentence: impl Display) -> Self {
        Said::new(sentence).with_code(Some("usage.values")).into()
    }

    /// Creates the error of values of another shape.
    pub fn of_shape(sentence: impl Display) -> Self {
        Said::new(sentence).with_code(Some("usage.shape")).into()
    }

    /// Creates the error of a wrong number of bytes.
    pub fn of_length(needed: u64, given: usize) -> Self {
        let unit = if needed == 1 { "byte" } else { "bytes" };
        let sentence = format_args!("{needed} {unit} needed, {given} given");
        Said::new(sentence).with_code(Some("usage.length")).into()
    }

    /// Creates the error of a name that a file does not have.
    pub fn missing(name: &str) -> Self {
        let said = Said::new(format_args!("there is no tensor {name:?}"));
        said.with_code(Some(MISSING)).about(Some(name.to_owned())).into()
    }

    /// Makes it an error about this tensor.
    pub fn about(self, name: &str) -> Self {
        match self {
            Self::Said(said) => {
                let sentence = format!("tensor {name:?}: {}", said.sentence);
                Said { sentence, tensor: Some(name.to_owned()), ..*said }.into()
            }
            Self::Python(error) => Python::attach(|py| match error.is_instance_of::<PyTypeError>(py) {
                true => PyTypeError::new_err(format!("tensor {name:?}: {}", error.value(py))).into(),
                false => error.into(),
            }),
            other => other,
        }
    }

    /// Creates the error of an invalid file whose header is in memory.
    pub fn of_bytes(error: Error, header: &[u8]) -> Self {
        let kind = refusal(error, header);
        Said::new(&kind).of_file(&kind, |_| Cow::Borrowed(header)).into()
    }

    /// Creates the error of an impossible file that has no path.
    pub fn of_edit(kind: &EditErrorKind) -> Self {
        Said::new(kind).with_code(code_of(kind)).about(tensor_of(kind)).into()
    }

    fn of_system(path: &Path, error: &io::Error) -> Self {
        let sentence = error.to_string();
        let reason = sentence.split(" (os error").next().unwrap_or(&sentence).to_owned();
        Self::System(error.raw_os_error(), reason, path.display().to_string())
    }

    fn of_file(path: &Path, kind: &FileErrorKind, sentence: impl Display) -> Self {
        match kind {
            FileErrorKind::System { error, .. } => Self::of_system(path, error),
            kind => {
                let header = |at| Cow::Owned(header_up_to(path, at).unwrap_or_default());
                Said::new(sentence).of_file(kind, header).into()
            }
        }
    }
}

/// A wrong file is a [`SafetensorError`]; any other failure is an error of the system.
impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Self {
        use RemoteErrorKind::{
            Changed, Format, HeaderTooLarge, Index, Location, ShortHeader, TooLarge, WebPage,
        };
        let said = Said::new(&error);
        match error.kind() {
            Format(fault) => said.with_error(*fault),
            Index(kind) => said.with_code(code_of(kind)).about(tensor_of(kind)),
            Changed(_) => said.with_code(Some(ErrorKind::Changed.code())),
            ShortHeader { .. } => said.with_code(Some("container.header-beyond-file")),
            WebPage | HeaderTooLarge { .. } => said.with_code(Some("container.header-too-large")),
            Location(_) | TooLarge(_) => said,
            _ => return Self::Python(io::Error::from(error).into()),
        }
        .into()
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::of_file(error.path(), error.kind(), &error)
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        let path = error.path();
        match error.kind() {
            EditErrorKind::File(kind) => Self::of_file(path, kind, &error),
            EditErrorKind::Input(reason) => Self::of_system(path, reason),
            EditErrorKind::Checkpoint(NoSums) => match std::fs::metadata(path) {
                Err(reason) => Self::of_system(path, &reason),
                Ok(_) => Self::say(error),
            },
            kind => Said::new(&error).with_code(code_of(kind)).about(tensor_of(kind)).into(),
        }
    }
}

const MISSING: &str = ErrorKind::NotFound { query: None }.code();

/// Returns the code that the same error has without files.
fn code_of(kind: &EditErrorKind) -> Option<&'static str> {
    match kind {
        EditErrorKind::Spec { error, .. } => Some(error.kind.code()),
        EditErrorKind::NoSuchTensor { .. } => Some(MISSING),
        EditErrorKind::TooManyBytes { .. } => Some("usage.bytes"),
        EditErrorKind::MissingBytes { .. } => Some("usage.incomplete"),
        EditErrorKind::WrongDtype { .. } => Some("usage.values"),
        EditErrorKind::Slice { kind, .. } => Some(kind.code()),
        _ => None,
    }
}

/// Returns the name of the tensor that the error is about.
fn tensor_of(kind: &EditErrorKind) -> Option<String> {
    match kind {
        EditErrorKind::Spec { error, name } if matches!(error.part, SpecPart::Tensor(_)) => Some(name),
        EditErrorKind::NoSuchTensor(name)
        | EditErrorKind::TooManyBytes { name, .. }
        | EditErrorKind::MissingBytes { name, .. }
        | EditErrorKind::WrittenTwice(name)
        | EditErrorKind::WrongDtype { name, .. }
        | EditErrorKind::Slice { name, .. } => Some(name),
        EditErrorKind::Shards(ShardErrorKind::Tensor { tensor, .. }) => Some(tensor),
        _ => None,
    }
    .cloned()
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Python(error) => error,
            // Python chooses the subclass for the number. Windows has numbers of its own.
            Failure::System(Some(number), reason, path) if cfg!(windows) => {
                PyOSError::new_err((0, reason, path, number))
            }
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
        value.setattr("code", self.code)?;
        value.setattr("byte", self.byte)?;
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
