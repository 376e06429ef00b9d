//! The command `safetensors` on one file: what it takes above the same on a file of no tensors.

use super::{Count, callgrind};
use crate::stages::Header;
use crate::toolchain::own_cargo;
use crate::workspace;
use std::path::{Path, PathBuf};

const TENSORS: u32 = 1000;

const COMMANDS: [(&str, &[&str]); 3] = [
    ("safetensors check", &["check"]),
    ("safetensors inspect", &["inspect"]),
    ("safetensors inspect --json", &["inspect", "--json"]),
];

pub fn count() -> Result<Vec<Count>, String> {
    own_cargo().args(["build", "--release", "--quiet", "--package", "safetensors-host"]).capture()?;
    let program = workspace::target_dir().join("release/safetensors");
    let (none, many) = (file(0)?, file(TENSORS)?);
    let counts = COMMANDS.into_iter().map(|(name, words)| {
        let on = |file: &Path| {
            let file = file.to_string_lossy();
            callgrind::whole(&program, &[words, &[&file]].concat())
        };
        let instructions = on(&many)?.saturating_sub(on(&none)?);
        Ok(Count { path: format!("{name}, {TENSORS} tensors"), instructions })
    });
    counts.collect()
}

/// A file of so many tensors.
fn file(tensors: u32) -> Result<PathBuf, String> {
    let header = Header { tensors, ..Header::SMALL };
    let mut bytes = header.bytes();
    let len = bytes.len() as u64 + header.data_len();
    bytes.resize(usize::try_from(len).map_err(|_| "a file too long for this machine")?, 0);
    let path = workspace::target_dir().join(format!("counted/{tensors}.safetensors"));
    workspace::write(&path, &bytes)?;
    Ok(path)
}
