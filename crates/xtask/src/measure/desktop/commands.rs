//! The instructions of the command `safetensors` on one file, above those on a file without tensors; and
//! its heap.

use super::{callgrind, dhat};
use crate::measure::firmware::{Content, file_of};
use crate::stages::release_command;
use crate::workspace;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

const TENSORS: usize = 1000;

const COMMANDS: [(&str, &[&str]); 3] = [
    ("safetensors check", &["check"]),
    ("safetensors inspect", &["inspect"]),
    ("safetensors inspect --json", &["inspect", "--json"]),
];

pub fn instructions() -> Result<Vec<(String, u64)>, String> {
    let program = release_command()?;
    let (none, many) = (file(0)?, file(TENSORS)?);
    let counts = COMMANDS.into_iter().map(|(name, words)| {
        let on = |file: &Path| {
            let file = file.to_string_lossy();
            callgrind::whole(&program, &[words, &[&file]].concat())
        };
        Ok((format!("{name}, {TENSORS} tensors"), on(&many)?.saturating_sub(on(&none)?)))
    });
    counts.collect()
}

/// Counts all allocations of each command, and the largest number of heap bytes at one time.
pub fn heap() -> Result<Vec<(String, u64)>, String> {
    let (program, mut counts) = (release_command()?, Vec::new());
    for (name, words) in
        COMMANDS.into_iter().chain([("safetensors hash --tensors", &["hash", "--tensors"][..])])
    {
        for tensors in [0, TENSORS] {
            let file = file(tensors)?;
            let heap = dhat::measure(&program, &[words, &[&file.to_string_lossy()]].concat())?;
            let path = |what| format!("{name}, {tensors} tensors: {what}");
            counts.push((path("allocations"), heap.allocations));
            counts.push((path("bytes at most"), heap.most_bytes));
        }
    }
    Ok(counts)
}

/// Writes a file with this many tensors, unless it is there already: another measurement may be reading it.
fn file(tensors: usize) -> Result<PathBuf, String> {
    static WRITING: Mutex<()> = Mutex::new(());
    let _guard = WRITING.lock();
    let path = workspace::target_dir().join(format!("counted/{tensors}.safetensors"));
    let bytes = file_of(Content::small(tensors));
    if workspace::read(&path).is_ok_and(|there| there == bytes) {
        return Ok(path);
    }
    workspace::write(&path, &bytes)?;
    Ok(path)
}
