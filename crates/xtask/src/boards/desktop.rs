//! The same network on this machine, which tells what the boards must say.

use super::content::Network;
use super::vectors;
use crate::process::Run;
use crate::toolchain::own_cargo;
use crate::workspace;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// All but the log, which only a device can send.
const FEATURES: [&str; 2] = ["--features", "vectors"];

const APP: &str = "firmware/app";

/// What it says of the digits.
pub fn digits(network: Network) -> Result<String, String> {
    let command = match network {
        Network::Floats => "digits",
        Network::Integers => "integer",
    };
    say(&[command.as_ref(), network.path().as_os_str()])
}

/// What it says of the conformance vectors.
pub fn vectors() -> Result<String, String> {
    let (manifest, pack) = (vectors::manifest(), vectors::packed()?);
    say(&["vectors".as_ref(), manifest.as_os_str(), pack.as_os_str()])
}

/// The file that it records, as a board of this name would.
pub fn recording(network: Network, board: &str, file: &Path) -> Result<Vec<u8>, String> {
    workspace::write(file, b"")?;
    let model = network.path();
    say(&["record".as_ref(), model.as_os_str(), file.as_os_str(), board.as_ref()])?;
    workspace::read(file)
}

/// Its tests, and those of all that the boards run.
pub fn tests() -> Result<(), String> {
    cargo("test").args(FEATURES).args(["--quiet"]).capture().map(drop)
}

fn say(words: &[&OsStr]) -> Result<String, String> {
    let output = Run::new(program()?).args(words).limit(60).capture()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn program() -> Result<&'static PathBuf, String> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let build = || {
        cargo("build").args(FEATURES).args(["--release", "--quiet", "--example", "desktop"]).capture()?;
        Ok(target_dir().join("release/examples/desktop"))
    };
    PROGRAM.get_or_init(build).as_ref().map_err(String::clone)
}

fn cargo(subcommand: &str) -> Run {
    let run = own_cargo().dir(&workspace::root().join(APP)).env("CARGO_TARGET_DIR", target_dir());
    run.args([subcommand, "--locked"])
}

fn target_dir() -> PathBuf {
    workspace::target_dir().join("firmware/app")
}
