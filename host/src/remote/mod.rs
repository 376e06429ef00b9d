//! Models on web servers and on the Hub of Hugging Face, wherever a command takes a file.

mod file;
mod find;
pub mod packed;
mod settings;

pub use file::{GAP, Handle, Reader, Remote};
pub use find::{Place, is_sharded, open, open_file, place};
pub use settings::{Settings, begin, client, is_remote};

use crate::complaint::Complaint;
use crate::failure::NotRead;
use safetensors_remote::{RemoteError, RemoteErrorKind};
use std::io;
use std::path::Path;

/// # Errors
/// The path of an output is a URL.
pub fn check_output(path: &Path) -> Result<(), Complaint> {
    match is_remote(path) {
        true => Err(Complaint::about(path, "a URL cannot be written to; give a file")),
        false => Ok(()),
    }
}

/// The sentence of an error, without its URL, which messages begin with.
impl From<RemoteError> for NotRead {
    fn from(error: RemoteError) -> Self {
        Self::that(sentence(&error))
    }
}

fn sentence(error: &RemoteError) -> String {
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

/// The sentence of an error of a read, if it is one of a server.
pub fn sentence_of(error: &io::Error) -> Option<String> {
    error.get_ref()?.downcast_ref::<RemoteError>().map(sentence)
}

/// Whether there is no such file.
fn is_missing(error: &RemoteError) -> bool {
    matches!(error.kind(), RemoteErrorKind::Status { status: 404 | 410, .. })
}
