//! Models on web servers and on the Hub of Hugging Face, wherever a command takes a file.

mod file;
mod find;

pub use file::{GAP, Reader, Storage, count, expect};
pub use find::{index_text, of_file, open, open_shards, place};

use crate::args::remote::is_remote;
use crate::error::Error;
use crate::error::not_read::NotRead;
use safetensors_remote::Location;
use std::io;
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

/// Why a path cannot be opened, with the model of the Hub that it may mean.
pub fn not_opened(path: &Path, error: io::Error) -> NotRead {
    let hub = if error.kind() == io::ErrorKind::NotFound { proposal(path) } else { None };
    let reason = NotRead::from(error);
    match hub {
        Some(hub) => NotRead::because(format!("{reason}; for the model of the Hub, write {hub}")),
        None => reason,
    }
}

/// The location of the model of the Hub that a path may mean: `OWNER/NAME`, without a directory of the owner.
/// A suffix of only letters is that of a file.
fn proposal(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let (owner, name) = text.split_once('/')?;
    let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix);
    let is_file = !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_alphabetic());
    let hub = format!("hf://{text}");
    let is_model = matches!(Location::parse(&hub), Ok(Location::Hub(model)) if model.repository() == text);
    (is_model && !is_file && !Path::new(owner).exists()).then_some(hub)
}

#[cfg(test)]
mod tests {
    use super::proposal;

    #[test]
    fn an_owner_and_a_name_may_be_a_model_of_the_hub() {
        for model in ["openai-community/gpt2", "Qwen/Qwen2.5-0.5B", "o/n_1.0"] {
            assert_eq!(proposal(model.as_ref()), Some(format!("hf://{model}")));
        }
        // `src` is a directory here.
        for path in
            ["gpt2", "o/n/f", "/o", "o/", "./n", "../n", "src/n", "o/n.safetensors", "o/n@v1", "o/n m"]
        {
            assert_eq!(proposal(path.as_ref()), None, "{path}");
        }
    }
}
