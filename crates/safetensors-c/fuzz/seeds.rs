//! Writes the short conformance vectors into a directory, as the initial corpus of the fuzzer: `seeds
//! DIRECTORY`. Each comes after a plan of 24 words, which its name determines.

use sha2::{Digest, Sha512};
use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

/// With its plan, a longer one is cut by the fuzzer.
const LONGEST: usize = 1950;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(env::args_os().nth(1).ok_or("usage: seeds DIRECTORY")?);
    fs::create_dir_all(&directory)?;
    for vector in vectors::load().vectors.iter().filter(|vector| vector.length < LONGEST) {
        let sum: String = Sha512::digest(&vector.id).iter().map(|byte| format!("{byte:02x}")).collect();
        let input = [b"\x18\0\0\0", &sum.as_bytes()[..93], &vector.bytes()].concat();
        fs::write(directory.join(vector.id.replace('/', "-")), input)?;
    }
    Ok(())
}
