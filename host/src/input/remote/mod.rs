//! Models on web servers and on the Hub of Hugging Face, wherever a command takes a file.

mod file;
mod find;
mod settings;

pub use file::{GAP, Handle, Reader, Remote};
pub use find::{Place, index_text, is_sharded, of_file, open, open_shards, place};
pub use settings::{
    Settings, VARIABLES, begin, client, explain, hide_in_paths, hide_in_text, is_remote, reads_urls, stop,
};

use crate::error::Complaint;
use crate::error::not_read::NotRead;
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

/// # Errors
/// The path of an output directory is a URL or standard output.
pub fn check_output_directory(path: &Path) -> Result<(), Complaint> {
    match path.as_os_str() == "-" {
        true => Err(Complaint::usage("an output directory is needed; standard output is not supported")),
        false => check_output(path),
    }
}

/// # Errors
/// A path that must be that of a local file is a URL.
pub fn check_local(path: &Path) -> Result<(), NotRead> {
    match is_remote(path) {
        true => Err(NotRead::that("a URL is not supported here; download it")),
        false => Ok(()),
    }
}

/// The sentence of an error, without its URL, which messages begin with.
impl From<&RemoteError> for NotRead {
    fn from(error: &RemoteError) -> Self {
        Self::of_server(error, sentence(error))
    }
}

impl From<RemoteError> for NotRead {
    fn from(error: RemoteError) -> Self {
        (&error).into()
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

/// The error of a server in an error of a read.
pub fn of_server(error: &io::Error) -> Option<&RemoteError> {
    error.get_ref()?.downcast_ref()
}
