//! Lists the files of the conformance vectors for `conform`, which carries them: who installs the command has them, and needs
//! no copy of the repository to score a reader.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    let mut list = format!("(include_bytes!({:?}), &[\n", existing(&vectors, "manifest.json"));
    for folder in ["either", "invalid", "valid"] {
        for path in files(&existing(&vectors, folder)) {
            let name = path.file_name().and_then(|name| name.to_str()).expect("names of vectors are ASCII");
            // Writing to a string cannot fail.
            let _ = writeln!(list, "({:?}, include_bytes!({path:?})),", format!("{folder}/{name}"));
        }
    }
    list.push_str("])");
    let out = std::env::var_os("OUT_DIR").expect("cargo names a folder");
    std::fs::write(Path::new(&out).join("vectors.rs"), list).expect("the folder can be written to");
}

/// A file or folder of the vectors; when it changes this is to run again.
fn existing(vectors: &Path, name: &str) -> PathBuf {
    let path = vectors.join(name).canonicalize();
    let path = path.unwrap_or_else(|error| panic!("{}/{name}: {error}", vectors.display()));
    println!("cargo:rerun-if-changed={}", path.display());
    path
}

/// In the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().expect("a folder can be listed");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}
