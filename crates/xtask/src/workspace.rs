//! Paths of the repository, and access to files.

use crate::process::Run;
use std::path::{Path, PathBuf};

/// Returns the repository's root.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

/// Lets a program have its temporary files in memory, if there is room for those of tests: most of them wait
/// for the disk else.
pub fn in_memory(run: Run) -> Run {
    let free = Run::new("df").words("--output=avail --block-size=1G /dev/shm").stdout();
    match free.ok().and_then(|free| free.lines().last()?.trim().parse::<u32>().ok()) {
        Some(8..) if std::env::var_os("TMPDIR").is_none() => run.env("TMPDIR", "/dev/shm"),
        _ => run,
    }
}

/// Returns the directory for build output: `target`, or the one set in the environment. Every cargo that
/// xtask runs gets this one, so that its output is found.
pub fn target_dir() -> PathBuf {
    match ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"].into_iter().find_map(std::env::var_os) {
        Some(dir) => std::path::absolute(&dir).unwrap_or(dir.into()),
        None => root().join("target"),
    }
}

/// Writes a file, creating its directories.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let failed = |error| format!("cannot write {}: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, bytes).map_err(failed)
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Reads a text file.
pub fn text(path: &Path) -> Result<String, String> {
    String::from_utf8(read(path)?).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Lists a directory in order.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("cannot list {}: {error}", folder.display());
    let entries = folder.read_dir().map_err(failed)?;
    let paths: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(failed)?;
    paths.sort();
    Ok(paths)
}
