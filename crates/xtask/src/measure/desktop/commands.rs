//! The command `safetensors` on one file: the instructions that it takes above those on a file of no tensors, and its heap.

use super::{Count, callgrind, dhat};
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
    let program = program()?;
    let (none, many) = (file(0)?, file(TENSORS)?);
    let counts = COMMANDS.into_iter().map(|(name, words)| {
        let on = |file: &Path| {
            let file = file.to_string_lossy();
            callgrind::whole(&program, &[words, &[&file]].concat())
        };
        let number = on(&many)?.saturating_sub(on(&none)?);
        Ok(Count { path: format!("{name}, {TENSORS} tensors"), number })
    });
    counts.collect()
}

/// How often each allocates in all, and how many bytes it has at most at one time.
pub fn count_heap() -> Result<Vec<Count>, String> {
    let (program, mut counts) = (program()?, Vec::new());
    for (name, words) in
        COMMANDS.into_iter().chain([("safetensors hash --tensors", &["hash", "--tensors"][..])])
    {
        for tensors in [0, TENSORS] {
            let file = file(tensors)?;
            let heap = dhat::measure(&program, &[words, &[&file.to_string_lossy()]].concat())?;
            let path = |what| format!("{name}, {tensors} tensors: {what}");
            counts.push(Count { path: path("allocations"), number: heap.allocations });
            counts.push(Count { path: path("bytes at most"), number: heap.most_bytes });
        }
    }
    Ok(counts)
}

fn program() -> Result<PathBuf, String> {
    own_cargo().args(["build", "--release", "--quiet", "--package", "safetensors-host"]).capture()?;
    Ok(workspace::target_dir().join("release/safetensors"))
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
