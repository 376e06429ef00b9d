//! `pack OUT`: the files of all vectors up to the length that a device can be asked for, one behind the other in the
//! manifest's order. Those that are recipes are made.

use std::process::ExitCode;

/// A file that is longer is not packed.
const LONGEST: usize = 65_536;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: pack OUT");
        return ExitCode::from(2);
    };
    let manifest = vectors::load();
    let packed = manifest.vectors.iter().filter(|vector| vector.length <= LONGEST);
    let pack: Vec<u8> = packed.flat_map(|vector| vector.bytes()).collect();
    match std::fs::write(&path, pack) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", path.display());
            ExitCode::FAILURE
        }
    }
}
