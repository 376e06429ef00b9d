//! Writes the initial corpus of a fuzzer into a directory: `corpus headers DIRECTORY` the headers of the
//! conformance vectors, `corpus numbers DIRECTORY` random bytes.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};
use support::random::Random;

/// Longer headers are repetitive, and a fuzzer changes little of them.
const LONGEST: usize = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [kind, directory] = &arguments[..] else {
        return Err("usage: corpus headers|numbers DIRECTORY".into());
    };
    let directory = PathBuf::from(directory);
    fs::create_dir_all(&directory)?;
    if kind == "numbers" {
        for len in (1..=64).map(|step| step * 32) {
            fs::write(directory.join(format!("seed-{len:04}")), Random::new(len as u64).bytes(len))?;
        }
        return Ok(());
    }
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
