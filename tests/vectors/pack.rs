//! `pack OUT`: writes the files of all vectors up to the length that a device can handle, one after another
//! in the manifest's order. Recipes are expanded. `pack OUT all` leaves out none, and writes a line before
//! each: its length, the code of its error or `ok`, the byte of the error, and its id.

use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::process::ExitCode;

/// A longer file is not packed.
const LONGEST: usize = 65_536;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let packed = match words[..] {
        [path] => pack(path, false),
        [path, "all"] => pack(path, true),
        _ => {
            eprintln!("usage: pack OUT [all]");
            return ExitCode::from(2);
        }
    };
    match packed {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", words[0]);
            ExitCode::FAILURE
        }
    }
}

fn pack(path: &str, all: bool) -> Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    for vector in vectors::load().vectors.iter().filter(|vector| all || vector.length <= LONGEST) {
        if all {
            let (code, at) = (vector.code.as_deref().unwrap_or("ok"), vector.at.unwrap_or_default());
            writeln!(out, "{} {code} {at} {}", vector.length, vector.id)?;
        }
        out.write_all(&vector.bytes())?;
    }
    out.flush()
}
