//! The reason why a file could not be read.

use crate::text::shown_text;
use embedded_safetensors::ReadError;
use safetensors_remote::{RemoteError, RemoteErrorKind};
use std::fmt;
use std::io;

/// The reason why a file could not be read.
#[derive(Clone, Debug)]
pub enum NotRead {
    /// Follows "cannot be read: ".
    Because(String),
    /// A complete predicate of the file, which could be read but not used.
    That(String),
    /// Nothing is wrong with the file: the user has interrupted the work.
    Interrupted,
}

impl NotRead {
    pub fn because(reason: impl Into<String>) -> Self {
        Self::Because(reason.into())
    }

    pub fn that(predicate: impl Into<String>) -> Self {
        Self::That(predicate.into())
    }

    /// An error of a server, with this predicate.
    pub fn of_server(error: &RemoteError, predicate: String) -> Self {
        match error.kind() {
            RemoteErrorKind::Stopped => Self::Interrupted,
            _ => Self::That(predicate),
        }
    }

    /// The file is a stream that cannot be copied, of which this much was.
    pub fn not_buffered(error: &io::Error, copied: Option<u64>) -> Self {
        let after = copied.map(|bytes| format!(" after {bytes} bytes")).unwrap_or_default();
        Self::that(format!("cannot be buffered in {}{after}", temporary(error)))
    }

    /// The file is no longer the one that was opened.
    pub fn changed() -> Self {
        Self::because("the file changed while it was being read")
    }

    /// What to say after the name of the file.
    pub fn predicate(&self) -> String {
        if let Self::Because(reason) = self { format!("cannot be read: {reason}") } else { self.to_string() }
    }
}

impl fmt::Display for NotRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Because(reason) | Self::That(reason) => f.write_str(reason),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl From<io::Error> for NotRead {
    fn from(error: io::Error) -> Self {
        match of_server(&error) {
            Some(error) => error.into(),
            None => Self::because(sentence(&error)),
        }
    }
}

/// Of a file that was valid a moment ago.
impl From<ReadError<io::Error>> for NotRead {
    fn from(error: ReadError<io::Error>) -> Self {
        match error {
            ReadError::Source(error) => error.into(),
            ReadError::UnexpectedEof { .. } => Self::changed(),
            ReadError::Format(error) => Self::because(error.kind.to_string()),
        }
    }
}

/// The sentence of an error, without its URL, which messages begin with.
impl From<&RemoteError> for NotRead {
    fn from(error: &RemoteError) -> Self {
        Self::of_server(error, sentence_of_server(error))
    }
}

impl From<RemoteError> for NotRead {
    fn from(error: RemoteError) -> Self {
        (&error).into()
    }
}

pub fn sentence_of_server(error: &RemoteError) -> String {
    let advice = match error.kind() {
        RemoteErrorKind::HeaderTooLarge { .. } => "; --max-header changes it",
        RemoteErrorKind::Status { status: 429 | 502..=504, .. } => "; try again later",
        _ => "",
    };
    match error.attempts() {
        0 | 1 => format!("{}{advice}", error.kind()),
        attempts => format!("{} (after {attempts} attempts){advice}", error.kind()),
    }
}

/// The error of a server in an error of a read.
pub fn of_server(error: &io::Error) -> Option<&RemoteError> {
    error.get_ref()?.downcast_ref()
}

/// The directory of temporary files, and why it cannot have one.
pub fn temporary(error: &io::Error) -> String {
    let variable = if cfg!(windows) { "TMP" } else { "TMPDIR" };
    let directory = std::env::temp_dir();
    let directory = shown_text(&directory.to_string_lossy());
    format!("{directory} (set {variable} to another directory): {}", sentence(error))
}

/// The system's message without its error number, in lowercase as all messages here.
pub fn sentence(error: &io::Error) -> String {
    let full = error.to_string();
    let words = full.split(" (os error").next().unwrap_or(&full);
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => full,
    }
}
