//! The paths of a desktop: those of the library, and two commands.

use super::{Place, callgrind, commands};
use crate::toolchain::{own_cargo, own_version};
use crate::workspace;

/// As it is called in `benches/counts/main.rs`.
const COUNTED: &str = "counts::counted";

pub fn count() -> Result<Place, String> {
    callgrind::need()?;
    let build = ["build", "--release", "--quiet", "--package", "verification", "--features", "std"];
    own_cargo().args(build).args(["--bin", "counts"]).capture()?;
    let program = workspace::target_dir().join("release/counts");
    let mut counts = callgrind::calls(&program, COUNTED)?;
    counts.extend(commands::count()?);
    let name = format!("desktop {}", std::env::consts::ARCH);
    Ok(Place { name, compiler: own_version()?, counts })
}
