//! Models on web servers and on the Hub of Hugging Face, wherever a command takes a file.

mod file;
mod find;

pub use file::{GAP, Handle, Reader, Remote};
pub use find::{index_text, is_sharded, of_file, open, open_shards, place};

use crate::args::remote::is_remote;
use crate::error::Error;
use crate::error::not_read::NotRead;
use std::path::Path;

/// # Errors
/// The path of an output is a URL.
pub fn check_output(path: &Path) -> Result<(), Error> {
    match is_remote(path) {
        true => Err(Error::about(path, "a URL cannot be written to; give a file")),
        false => Ok(()),
    }
}

/// # Errors
/// The path of an output directory is a URL or standard output.
pub fn check_output_directory(path: &Path) -> Result<(), Error> {
    match path.as_os_str() == "-" {
        true => Err(Error::usage("an output directory is needed; standard output is not supported")),
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
