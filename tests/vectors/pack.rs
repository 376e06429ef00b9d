//! `pack OUT`: writes the files of all vectors up to the length that a device can handle, one after another
//! in the manifest's order. Recipes are expanded.

use std::process::ExitCode;

/// A longer file is not packed.
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
