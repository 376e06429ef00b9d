//! Errors that end a command or its work on one file.

pub mod not_read;

use crate::error::not_read::{Failure, NotRead, sentence};
use crate::exit::Exit;
use crate::input::remote::of_server;
use crate::input::source::Source;
use crate::json::Object;
use crate::output::stdout::{cannot_write, complain};
use crate::print::diagnostic::Report;
use crate::text::{counted, shown_text};
use embedded_safetensors::{
    error::Class,
    file::{FileError, FileErrorKind},
};
use safetensors_files::{
    EditError, EditErrorKind,
    shards::{ShardError, ShardErrorKind},
};
use safetensors_remote::RemoteErrorKind;
use std::io;
use std::path::Path;

/// The result of a command.
pub type Outcome = Result<Exit, Complaint>;

/// An error in one sentence.
#[derive(Debug)]
pub struct Complaint {
    /// The file concerned, if any.
    file: Option<String>,
    what: What,
}

#[derive(Debug)]
enum What {
    /// The file is invalid.
    Invalid(Box<Report>),
    /// The file could not be read.
    NotRead(NotRead),
    /// A sentence, and its `error` code in JSON.
    Message { exit: Exit, kind: &'static str, sentence: String },
    /// Standard output failed.
    Output(io::Error),
}

impl Complaint {
    /// The file is invalid or could not be read.
    pub fn of(file: &Path, source: &mut Source, failure: Failure) -> Self {
        let report = match failure {
            Failure::Invalid(error) => Report::new(source, error),
            Failure::NotRead(reason) => Err(reason),
        };
        match report {
            Ok(report) => Self { file: Some(name(file)), what: What::Invalid(Box::new(report)) },
            Err(reason) => Self::not_read(file, reason),
        }
    }

    /// The file could not be read.
    pub fn not_read(file: &Path, reason: impl Into<NotRead>) -> Self {
        let reason = reason.into();
        match reason.is_interruption() {
            true => Self::interrupted(),
            false => Self { file: Some(name(file)), what: What::NotRead(reason) },
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
        let needed = len
            .filter(|_| is_full)
            .map(|len| format!(", {} needed", counted(len, "byte")))
            .unwrap_or_default();
        let sentence = format!("cannot be written: {}{needed}", sentence(error));
        Self::said(Some(file), Exit::Failed, "io", sentence)
    }

    /// The file could not be removed.
    pub fn cannot_remove(file: &Path, error: &io::Error) -> Self {
        Self::said(Some(file), Exit::Failed, "io", format!("cannot be removed: {}", sentence(error)))
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

    /// The name of the format that an invalid file seems to have, if `convert` reads it.
    pub fn seen_format(&self) -> Option<&'static str> {
        if let What::Invalid(report) = &self.what { report.seen } else { None }
    }

    /// The same with something after the sentence.
    pub fn and(self, more: &str) -> Self {
        match self.what {
            What::Message { exit, kind, sentence } => {
                let sentence = sentence + more;
                Self { what: What::Message { exit, kind, sentence }, ..self }
            }
            _ => self,
        }
    }

    fn said(file: Option<&Path>, exit: Exit, kind: &'static str, sentence: String) -> Self {
        Self { file: file.map(name), what: What::Message { exit, kind, sentence } }
    }

    /// Prints it: to standard error, or as JSON to standard output.
    pub fn say(&self, json: bool) -> Exit {
        match &self.what {
            What::Output(error) => return cannot_write(error),
            _ if json => println_json(self),
            _ => complain(self.line()),
        }
        self.exit()
    }

    pub fn exit(&self) -> Exit {
        match &self.what {
            What::Invalid(_) => Exit::Bad,
            What::NotRead(_) | What::Output(_) => Exit::Failed,
            What::Message { exit, .. } => *exit,
        }
    }

    /// The error as text.
    pub fn line(&self) -> String {
        match &self.what {
            What::Output(_) => self.sentence(),
            _ => {
                format!("{}: {}", shown_text(self.file.as_deref().unwrap_or("safetensors")), self.sentence())
            }
        }
    }

    /// The error as text, without the file.
    pub fn sentence(&self) -> String {
        match &self.what {
            What::Invalid(report) => report.to_string(),
            What::NotRead(reason) => reason.predicate(),
            What::Message { sentence, .. } => sentence.clone(),
            What::Output(error) => sentence(error),
        }
    }

    /// The error as one JSON object.
    pub fn json(&self) -> String {
        let mut object = Object::new();
        if let Some(file) = &self.file {
            object = object.text("file", file);
        }
        object = object.flag("ok", false);
        match &self.what {
            What::Invalid(report) => report.members(object),
            What::NotRead(reason) => object.text("error", "io").text("message", &reason.to_string()),
            What::Message { kind, sentence, .. } => object.text("error", kind).text("message", sentence),
            What::Output(error) => object.text("error", "io").text("message", &sentence(error)),
        }
        .end()
    }
}

fn is_stop(error: &io::Error) -> bool {
    of_server(error).is_some_and(|error| matches!(error.kind(), RemoteErrorKind::Stopped))
}

fn name(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

/// Where this fails, the exit code remains.
fn println_json(complaint: &Complaint) {
    use std::io::Write;
    let _ = writeln!(io::stdout(), "{}", complaint.json());
}

/// An error of standard output; errors of other streams name a file.
impl From<io::Error> for Complaint {
    fn from(error: io::Error) -> Self {
        Self { file: None, what: What::Output(error) }
    }
}

/// An error of the library, with the system's words.
impl From<FileError> for Complaint {
    fn from(error: FileError) -> Self {
        Self::of_file(error.path(), error.kind())
    }
}

/// An error of the library about a file to be written.
impl From<EditError> for Complaint {
    fn from(error: EditError) -> Self {
        Self::of_edit(&error)
    }
}

/// An error of the library about a sharded model.
impl From<ShardError> for Complaint {
    fn from(error: ShardError) -> Self {
        Self::of_shards(error.path(), error.kind())
    }
}

impl Complaint {
    /// An error of a sharded model.
    pub fn of_shards(path: &Path, kind: &ShardErrorKind) -> Self {
        let sentence = kind.to_string();
        match (kind, kind.class()) {
            (ShardErrorKind::File(error), _) => Self::of_edit(error),
            (_, Some(Class::File)) => Self::bad(path, "shards", sentence),
            (_, Some(Class::Limit)) => Self::said(Some(path), Exit::Failed, "limit", sentence),
            _ => Self::about(path, sentence),
        }
    }

    fn of_edit(error: &EditError) -> Self {
        let (path, said) =
            (error.path(), |kind, sentence| Self::said(Some(error.path()), Exit::Failed, kind, sentence));
        match error.kind() {
            EditErrorKind::File(fault) => Self::of_file(path, fault),
            EditErrorKind::Stopped => Self::interrupted(),
            EditErrorKind::Input(error) if is_stop(error) => Self::interrupted(),
            EditErrorKind::Input(error) => said("io", format!("cannot read its input: {}", sentence(error))),
            fault => said("usage", fault.to_string()),
        }
    }

    /// An error of the library about a file.
    pub fn of_file(path: &Path, fault: &FileErrorKind) -> Self {
        let said = |kind, sentence| Self::said(Some(path), Exit::Failed, kind, sentence);
        match fault {
            FileErrorKind::System { action: "write" | "replace", error } => Self::cannot_write(path, error),
            FileErrorKind::System { action, error } => match of_server(error) {
                Some(error) => Self::not_read(path, error),
                None => said("io", format!("cannot {action} it: {}", sentence(error))),
            },
            FileErrorKind::Changed => Self::not_read(path, NotRead::changed()),
            FileErrorKind::Format(fault) | FileErrorKind::Duplicate { error: fault, .. } => {
                Self::of_format(path, fault)
            }
            fault => said("usage", fault.to_string()),
        }
    }
}
