//! Writes the headers of the conformance vectors into a directory, as the initial corpus of a fuzzer: `corpus
//! DIRECTORY`.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

/// Longer headers are repetitive, and a fuzzer changes little of them.
const LONGEST: usize = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(env::args_os().nth(1).ok_or("usage: corpus FOLDER")?);
    fs::create_dir_all(&directory)?;
    for vector in vectors::load().vectors.iter().filter(|vector| vector.length <= LONGEST) {
        if let Some(header) = header(&vector.bytes()) {
            fs::write(directory.join(&vector.id), header)?;
        }
    }
    Ok(())
}

/// Returns as much of it as exists.
fn header(file: &[u8]) -> Option<&[u8]> {
    let (length, rest) = file.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    Some(rest.get(..length).unwrap_or(rest))
}
