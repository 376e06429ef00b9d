//! The files of other frameworks as vectors, with the tables of the library in Rust. The suite compares those
//! with what the frameworks had in memory.

use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use support::verdict::full_verdict;
use vectors::{Vector, sha256};

/// Returns a vector for each file, without its metadata: that of safestructures needs more memory than the
/// programs have.
pub fn of_frameworks() -> Result<Vec<Vector>, String> {
    let mut paths = Vec::new();
    for folder in list(&vectors::folder().join("../interop"))? {
        if folder.is_dir() && !folder.ends_with("ours") {
            paths.extend(list(&folder)?.into_iter().filter(|path| is_file(path)));
        }
    }
    if paths.is_empty() {
        return Err("the frameworks have no files".to_owned());
    }
    paths.iter().map(|path| vector(path)).collect()
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("{}: {error}", folder.display());
    let entries = folder.read_dir().map_err(failed)?;
    let paths: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(failed)?;
    paths.sort();
    Ok(paths)
}

fn is_file(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "safetensors")
}

fn vector(path: &Path) -> Result<Vector, String> {
    let failed = |error: String| format!("{}: {error}", path.display());
    let file = fs::read(path).map_err(|error| failed(error.to_string()))?;
    let table = full_verdict(&file).map_err(|error| failed(error.to_string()))?;
    let framework = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let tensors = table.tensors.iter().map(|tensor| {
        json!({
            "name": tensor.name,
            "dtype": tensor.dtype,
            "shape": tensor.shape,
            "data_offsets": tensor.data_offsets,
            "sha256": "",
        })
    });
    let vector = json!({
        "id": format!("{framework}-{name}"),
        "file": format!("../interop/{framework}/{name}.safetensors"),
        "length": file.len(),
        "sha256": sha256(&file),
        "verdict": "valid",
        "ours": "accept",
        "rule": "",
        "reason": "",
        "flags": [],
        "tensors": tensors.collect::<Vec<_>>(),
    });
    serde_json::from_value(vector).map_err(|error| failed(error.to_string()))
}
