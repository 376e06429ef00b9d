//! The conformance vectors as a device finds them.

use crate::toolchain::own_cargo;
use crate::workspace;
use std::path::PathBuf;
use std::sync::OnceLock;

pub const MANIFEST: &str = "tests/vectors/manifest.json";

/// The vectors that are small enough for a device, one behind the other, as this file.
pub fn packed() -> Result<PathBuf, String> {
    static PACKED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let pack = || {
        let path = workspace::target_dir().join("firmware/VECTORS.BIN");
        workspace::write(&path, b"")?;
        let program = ["run", "--release", "--quiet", "--package", "verification", "--bin", "pack", "--"];
        own_cargo().args(program).args([&path]).capture()?;
        Ok(path)
    };
    PACKED.get_or_init(pack).clone()
}

pub fn pack() -> Result<Vec<u8>, String> {
    workspace::read(&packed()?)
}
