//! Errors that end a command or its work on one file. They are data: `print::diagnostic` shows them.

pub mod not_read;

use crate::exit::Exit;
use crate::text::{counted, quoted, shown_text};
use embedded_safetensors::{
    error::Class,
    file::{FileError, FileErrorKind},
};
use not_read::{NotRead, of_server, sentence};
use safetensors_files::{EditError, EditErrorKind};
use safetensors_remote::RemoteErrorKind;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::io;
use std::path::Path;

/// The result of a command.
pub type Outcome = Result<Exit, Error>;

/// The sentence about a path that is taken.
pub const EXISTS: &str = "already exists; use --force to overwrite it";

/// An error in one sentence.
#[derive(Debug)]
pub struct Error {
    /// The file concerned, if any.
    file: Option<String>,
    what: What,
}

#[derive(Debug)]
enum What {
    /// The file is invalid.
    Invalid(Box<Invalid>),
    /// The file is valid, but fails a further check at this byte.
    Fails(Box<Fails>),
    /// The file could not be read.
    NotRead(NotRead),
    /// A sentence, and its `error` code in JSON.
    Message { exit: Exit, kind: &'static str, sentence: String },
    /// Standard output failed.
    Output(io::Error),
}

/// An invalid file, with all that a report about it shows.
#[derive(Debug)]
pub struct Invalid {
    pub error: embedded_safetensors::Error,
    /// The tensor concerned.
    pub tensor: Option<String>,
    /// The header's text around the error, if the error is in the text.
    pub passage: Option<Passage>,
    /// What follows the sentence.
    pub advice: String,
    /// The format that the file seems to have instead, and what to do with it.
    pub hint: Option<String>,
    /// The name of this format, if `convert` reads it.
    pub seen: Option<&'static str>,
}

/// The place where a valid file fails a further check.
#[derive(Debug)]
pub struct Fails {
    /// Its stable code.
    pub code: &'static str,
    pub at: u64,
    pub message: String,
    /// The tensor and the index of the value, if the check is about values.
    pub value: Option<(String, Vec<u64>)>,
}

/// The bytes of a header on both sides of an error.
#[derive(Debug)]
pub struct Passage {
    pub before: Vec<u8>,
    pub after: Vec<u8>,
    /// Whether the header has more text before them, and after them.
    pub is_cut: (bool, bool),
}

impl Invalid {
    /// One sentence, with the tensor's name and the numbers.
    pub fn message(&self) -> String {
        let Self { tensor, error, advice, .. } = self;
        match tensor {
            // The text of an error can say more than its kind: `error[CODE] at byte N: SENTENCE`.
            None => format!("{}{advice}", error.to_string().splitn(2, ": ").last().unwrap_or_default()),
            Some(name) => format!("tensor {}: {}{advice}", quoted(name), error.kind),
        }
    }
}

impl Error {
    /// The file is invalid.
    pub fn invalid(file: &Path, invalid: Invalid) -> Self {
        Self { file: Some(name(file)), what: What::Invalid(Box::new(invalid)) }
    }

    /// The file is valid, but fails a further check.
    pub fn fails(file: &Path, fails: Fails) -> Self {
        Self { file: Some(name(file)), what: What::Fails(Box::new(fails)) }
    }

    /// The file could not be read.
    pub fn not_read(file: &Path, reason: impl Into<NotRead>) -> Self {
        match reason.into() {
            NotRead::Interrupted => Self::interrupted(),
            reason => Self { file: Some(name(file)), what: What::NotRead(reason) },
        }
    }

    /// The arguments make no sense.
    pub fn usage(sentence: impl Into<String>) -> Self {
        Self::said(None, Exit::Failed, "usage", sentence.into())
    }

    /// The arguments make no sense for this file.
    pub fn about(file: &Path, sentence: impl Into<String>) -> Self {
        Self::said(Some(file), Exit::Failed, "usage", sentence.into())
    }

    /// The file can be read, but fails the check.
    pub fn bad(file: &Path, kind: &'static str, sentence: impl Into<String>) -> Self {
        Self::said(Some(file), Exit::Bad, kind, sentence.into())
    }

    /// An error of a reader of another format. Errors of the system have a number; all others are about the
    /// contents, with this code in JSON.
    pub fn of_contents(file: &Path, code: &'static str, error: io::Error) -> Self {
        match error.kind() {
            _ if error.raw_os_error().is_some() => Self::not_read(file, error),
            io::ErrorKind::InvalidData => Self::bad(file, code, error.to_string()),
            io::ErrorKind::QuotaExceeded => Self::limit(file, error.to_string()),
            _ => Self::not_read(file, error),
        }
    }

    /// The file exceeds a limit.
    pub fn limit(file: &Path, sentence: impl Into<String>) -> Self {
        Self::said(Some(file), Exit::Failed, "limit", sentence.into())
    }

    /// The file could not be written and is unchanged.
    pub fn cannot_write(file: &Path, error: &io::Error) -> Self {
        Self::cannot_write_all(file, error, None)
    }

    /// A file of this length could not be written.
    pub fn cannot_write_all(file: &Path, error: &io::Error, len: Option<u64>) -> Self {
        let is_full = matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        );
        let needed = len.filter(|_| is_full).map(|len| format!(", {} needed", counted(len, "byte")));
        Self::system(file, "cannot be written", error).and(&needed.unwrap_or_default())
    }

    /// The file could not be removed.
    pub fn cannot_remove(file: &Path, error: &io::Error) -> Self {
        Self::system(file, "cannot be removed", error)
    }

    fn system(file: &Path, what: &str, error: &io::Error) -> Self {
        Self::said(Some(file), Exit::Failed, "io", format!("{what}: {}", sentence(error)))
    }

    /// The user has interrupted the work.
    pub fn interrupted() -> Self {
        Self::said(None, Exit::Interrupted, "interrupted", "interrupted".into())
    }

    /// Any other end, with its exit code.
    #[cfg(feature = "chips")]
    pub fn ended(exit: Exit, kind: &'static str, sentence: impl Into<String>) -> Self {
        Self::said(None, exit, kind, sentence.into())
    }

    /// An error of the format, without the text of the file.
    pub fn of_format(file: &Path, fault: &embedded_safetensors::Error) -> Self {
        Self::bad(file, fault.kind.code(), fault.to_string())
    }

    /// What is wrong with an invalid file.
    pub fn as_invalid(&self) -> Option<&Invalid> {
        if let What::Invalid(invalid) = &self.what { Some(invalid) } else { None }
    }

    /// The name of the format that an invalid file seems to have, if `convert` reads it.
    pub fn seen_format(&self) -> Option<&'static str> {
        self.as_invalid()?.seen
    }

    /// Its `error` code in JSON, if it has a sentence.
    pub fn kind(&self) -> Option<&'static str> {
        if let What::Message { kind, .. } = self.what { Some(kind) } else { None }
    }

    /// The same with something after the sentence.
    pub fn and(self, more: &str) -> Self {
        match self.what {
            What::Message { exit, kind, sentence } => {
                Self { what: What::Message { exit, kind, sentence: sentence + more }, ..self }
            }
            What::Invalid(mut invalid) => {
                invalid.advice += more;
                Self { what: What::Invalid(invalid), ..self }
            }
            _ => self,
        }
    }

    fn said(file: Option<&Path>, exit: Exit, kind: &'static str, sentence: String) -> Self {
        Self { file: file.map(name), what: What::Message { exit, kind, sentence } }
    }

    /// The error of standard output, if it failed.
    pub fn of_output(&self) -> Option<&io::Error> {
        if let What::Output(error) = &self.what { Some(error) } else { None }
    }

    pub fn exit(&self) -> Exit {
        match &self.what {
            What::Invalid(_) | What::Fails(_) => Exit::Bad,
            What::NotRead(_) | What::Output(_) => Exit::Failed,
            What::Message { exit, .. } => *exit,
        }
    }

    /// What a sentence about the error begins with: the file, or the program.
    pub fn place(&self) -> String {
        shown_text(self.file.as_deref().unwrap_or("safetensors"))
    }

    /// The same as an error of the index that names this shard, if it is the error of another file.
    pub fn of_index(self, index: &Path, is_told: impl Fn(&str) -> bool) -> Self {
        let (exit, shard) = (self.exit(), self.file.as_deref().filter(|file| *file != name(index)));
        let Some(shard) = shard.filter(|shard| is_told(shard)) else { return self };
        let (kind, why) = if exit == Exit::Bad { ("shards", "invalid") } else { ("io", "not readable") };
        Self::said(Some(index), exit, kind, format!("its shard {} is {why}", quoted(shard)))
    }

    /// The error as text.
    pub fn line(&self) -> String {
        format!("{}: {}", self.place(), self.sentence())
    }

    /// The error as text, without the file.
    pub fn sentence(&self) -> String {
        match &self.what {
            What::Invalid(invalid) => {
                let (code, at) = (invalid.error.kind.code(), invalid.error.at);
                // If the file is not safetensors, the parse error would only mislead.
                let message = invalid.hint.clone().unwrap_or_else(|| invalid.message());
                format!("error[{code}] at byte {at}: {message}")
            }
            What::Fails(fails) => format!("error[{}] at byte {}: {}", fails.code, fails.at, fails.message),
            What::NotRead(reason) => reason.predicate(),
            What::Message { sentence, .. } => sentence.clone(),
            What::Output(error) => sentence(error),
        }
    }
}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut members = to.serialize_map(None)?;
        if let Some(file) = &self.file {
            members.serialize_entry("file", file)?;
        }
        members.serialize_entry("ok", &false)?;
        let (code, at, message) = match &self.what {
            What::Invalid(invalid) => (invalid.error.kind.code(), Some(invalid.error.at), invalid.message()),
            What::Fails(fails) => (fails.code, Some(fails.at), fails.message.clone()),
            What::NotRead(reason) => ("io", None, reason.to_string()),
            What::Message { kind, sentence, .. } => (*kind, None, sentence.clone()),
            What::Output(error) => ("io", None, sentence(error)),
        };
        members.serialize_entry(if at.is_some() { "code" } else { "error" }, code)?;
        if let Some(at) = at {
            members.serialize_entry("at", &at)?;
        }
        members.serialize_entry("message", &message)?;
        let (tensor, index, hint) = match &self.what {
            What::Invalid(invalid) => (invalid.tensor.as_ref(), None, invalid.hint.as_ref()),
            What::Fails(fails) => match &fails.value {
                Some((tensor, index)) => (Some(tensor), Some(index), None),
                None => (None, None, None),
            },
            _ => (None, None, None),
        };
        if let Some(tensor) = tensor {
            members.serialize_entry("tensor", tensor)?;
        }
        if let Some(index) = index {
            members.serialize_entry("index", index)?;
        }
        if let Some(hint) = hint {
            members.serialize_entry("hint", hint)?;
        }
        members.end()
    }
}

fn is_stop(error: &io::Error) -> bool {
    of_server(error).is_some_and(|error| matches!(error.kind(), RemoteErrorKind::Stopped))
}

fn name(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

/// An error of standard output; errors of other streams name a file.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self { file: None, what: What::Output(error) }
    }
}

/// An error of the library, with the system's words.
impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        Self::of_file(error.path(), error.kind())
    }
}

/// An error of the library about a file to be written.
impl From<EditError> for Error {
    fn from(error: EditError) -> Self {
        Self::of_edit(error.path(), error.kind())
    }
}

impl Error {
    /// An error of the library about a file to be written, or a sharded model.
    pub fn of_edit(path: &Path, kind: &EditErrorKind) -> Self {
        match kind {
            EditErrorKind::File(fault) => Self::of_file(path, fault),
            EditErrorKind::Shards(_) if kind.class() == Some(Class::File) => {
                Self::bad(path, "shards", kind.to_string())
            }
            EditErrorKind::Shards(_) if kind.class() == Some(Class::Limit) => {
                Self::limit(path, kind.to_string())
            }
            EditErrorKind::Stopped => Self::interrupted(),
            EditErrorKind::Input(error) if is_stop(error) => Self::interrupted(),
            EditErrorKind::Input(error) => Self::system(path, "cannot read its input", error),
            fault => Self::about(path, fault.to_string()),
        }
    }

    /// An error of the library about a file.
    pub fn of_file(path: &Path, fault: &FileErrorKind) -> Self {
        match fault {
            FileErrorKind::System { action: "replace", error }
                if error.kind() == io::ErrorKind::AlreadyExists =>
            {
                Self::about(path, EXISTS)
            }
            FileErrorKind::System { action: "write" | "replace", error } => Self::cannot_write(path, error),
            FileErrorKind::System { action, error } => match of_server(error) {
                Some(error) => Self::not_read(path, error),
                None => Self::system(path, &format!("cannot {action} it"), error),
            },
            FileErrorKind::Changed => Self::not_read(path, NotRead::changed()),
            FileErrorKind::Interrupted => Self::about(path, "is being edited by another program"),
            FileErrorKind::Format(fault) | FileErrorKind::Duplicate { error: fault, .. } => {
                Self::of_format(path, fault)
            }
            fault => Self::about(path, fault.to_string()),
        }
    }
}
