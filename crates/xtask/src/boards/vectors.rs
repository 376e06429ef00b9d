//! The conformance vectors as a device finds them.

use crate::toolchain::own_cargo;
use crate::workspace;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The committed manifest.
pub fn manifest() -> PathBuf {
    workspace::root().join("tests/vectors/manifest.json")
}

/// What is changed in a manifest that is wrong: the beginning of a line, what stands in it, and what takes its place. The byte
/// of an error, and an offset of a sound file's tensor.
const WRONG: [[&str; 3]; 2] = [
    ["{\"id\":\"d1-far-apart\",", "\"at\":217,", "\"at\":218,"],
    ["{\"id\":\"name-cases\",", "\"data_offsets\":[1,2]", "\"data_offsets\":[0,1]"],
];

/// The manifest, but two of its expectations are wrong.
pub fn wrong_manifest() -> Result<Vec<u8>, String> {
    let mut text = workspace::read(&manifest())?;
    for [line, right, wrong] in WRONG {
        let place =
            |text: &[u8], part: &str| text.windows(part.len()).position(|bytes| bytes == part.as_bytes());
        let begin = place(&text, line).ok_or_else(|| format!("the manifest has no line {line}"))?;
        let behind = text.split_off(begin);
        let at =
            place(&behind, right).ok_or_else(|| format!("the manifest does not say {right} in {line}"))?;
        text.extend([&behind[..at], wrong.as_bytes(), &behind[at + right.len()..]].concat());
    }
    Ok(text)
}

/// Whether a line is the verdict on a vector that is as the manifest says. There are many of them.
pub fn is_as_expected(line: &str) -> bool {
    line.starts_with("vector ") && !line.contains(", but ")
}

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
