//! The paths of a desktop: those of the library, and commands.

use super::{Count, INSTRUCTIONS, Place, callgrind, commands};
use crate::toolchain::{own_cargo, own_version};
use crate::workspace;

/// As it is called in `benches/counts/main.rs`.
const COUNTED: &str = "counts::counted";

const PATHS: &str = "desktop";
const HEAP: &str = "heap";

/// That of a desktop, by the name of its place; nothing where the place is a board.
pub fn architecture(place: &str) -> Option<&str> {
    [PATHS, HEAP].iter().find_map(|what| place.strip_prefix(what)?.strip_prefix(", "))
}

/// Their instructions.
pub fn count() -> Result<Place, String> {
    callgrind::need()?;
    place(PATHS, INSTRUCTIONS, count_instructions()?)
}

/// What the commands do with the heap.
pub fn count_heap() -> Result<Place, String> {
    callgrind::need()?;
    place(HEAP, "", commands::count_heap()?)
}

fn place(what: &str, unit: &'static str, counts: Vec<Count>) -> Result<Place, String> {
    let name = format!("{what}, {}", std::env::consts::ARCH);
    Ok(Place { name, compiler: own_version()?, unit, counts })
}

fn count_instructions() -> Result<Vec<Count>, String> {
    let build = ["build", "--release", "--quiet", "--package", "verification", "--features", "std"];
    own_cargo().args(build).args(["--bin", "counts"]).capture()?;
    let program = workspace::target_dir().join("release/counts");
    let mut counts = callgrind::calls(&program, COUNTED)?;
    counts.extend(commands::count()?);
    Ok(counts)
}
