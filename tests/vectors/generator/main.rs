//! Writes the conformance vectors, or checks that the committed files are those of the cases.
//!
//! `vectors generate` writes the files and the manifest; `vectors check` compares them byte for byte. Both
//! run five releases of the reference and fail when a case contradicts it.

mod build;
mod case;
mod cases;
mod codes;
mod manifest;
mod recipe;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use build::Vector;
use case::Body;

/// The directories that hold only vectors.
const FOLDERS: [&str; 3] = ["valid", "invalid", "either"];

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).as_deref() {
        Some("generate") => generated().and_then(|files| write(&files)),
        Some("check") => generated().and_then(|files| check(&files)),
        _ => Err(vec!["usage: vectors generate|check".to_owned()]),
    };
    match outcome {
        Ok(count) => {
            println!("{count} files");
            ExitCode::SUCCESS
        }
        Err(problems) => {
            problems.iter().for_each(|problem| eprintln!("{problem}"));
            ExitCode::FAILURE
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

/// Returns all files that the cases make.
fn generated() -> Result<Files, Vec<String>> {
    let mut files = Files::new();
    let mut lines = Vec::new();
    let mut problems = Vec::new();
    for case in cases::all() {
        match build::build(&case) {
            Ok(vector) => {
                lines.push(manifest::vector(&vector));
                keep(&mut files, vector);
            }
            Err(problem) => problems.push(format!("{}: {problem}", case.id)),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    files.insert("manifest.json".into(), manifest::document(&lines).into_bytes());
    Ok(files)
}

fn keep(files: &mut Files, vector: Vector<'_>) {
    if !matches!(vector.case.body, Body::Recipe(_)) {
        files.insert(vector.path().into(), vector.file);
    }
}

fn write(files: &Files) -> Result<usize, Vec<String>> {
    for stray in unexpected_files(files)? {
        std::fs::remove_file(root().join(&stray)).map_err(|error| about(&stray, &error))?;
    }
    for (path, bytes) in files {
        let full = root().join(path);
        if let Some(directory) = full.parent() {
            std::fs::create_dir_all(directory).map_err(|error| about(directory, &error))?;
        }
        std::fs::write(&full, bytes).map_err(|error| about(path, &error))?;
    }
    Ok(files.len())
}

fn check(files: &Files) -> Result<usize, Vec<String>> {
    let mut problems: Vec<String> = unexpected_files(files)?
        .iter()
        .map(|path| format!("{}: no case makes this file", path.display()))
        .collect();
    for (path, bytes) in files {
        match std::fs::read(root().join(path)) {
            Ok(found) if found == *bytes => {}
            Ok(_) => problems.push(format!("{}: differs from what its case makes", path.display())),
            Err(error) => problems.extend(about(path, &error)),
        }
    }
    if problems.is_empty() { Ok(files.len()) } else { Err(problems) }
}

/// Returns files in the directories that no case makes.
fn unexpected_files(files: &Files) -> Result<Vec<PathBuf>, Vec<String>> {
    let mut unexpected_files = Vec::new();
    for directory in FOLDERS {
        let Ok(entries) = std::fs::read_dir(root().join(directory)) else { continue };
        for entry in entries {
            let path = Path::new(directory)
                .join(entry.map_err(|error| about(directory.as_ref(), &error))?.file_name());
            if !files.contains_key(&path) {
                unexpected_files.push(path);
            }
        }
    }
    Ok(unexpected_files)
}

fn about(path: &Path, error: &std::io::Error) -> Vec<String> {
    vec![format!("{}: {error}", path.display())]
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
