//! Lists the files of the conformance vectors for `conform`, which contains them and the template of its
//! page, so that an installed command needs no copy of the repository.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    // A link, which the package contains as files. Git on Windows may write a link as a file.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("CARGO_MANIFEST_DIR is set");
    let here = Path::new(&here);
    let vectors = ["vectors", "../tests/vectors"].map(|path| here.join(path));
    let vectors = vectors.into_iter().find(|path| path.is_dir()).expect("the vectors are beside the package");
    let mut list = format!("(include_bytes!({:?}), &[\n", existing(&vectors, "manifest.json"));
    for folder in ["either", "invalid", "valid"] {
        for path in files(&existing(&vectors, folder)) {
            let name = path.file_name().and_then(|name| name.to_str()).expect("names of vectors are ASCII");
            // Writing to a string cannot fail.
            let _ = writeln!(list, "({:?}, include_bytes!({path:?})),", format!("{folder}/{name}"));
        }
    }
    list.push_str("])");
    let out = std::env::var_os("OUT_DIR").expect("OUT_DIR is set");
    let page = format!("include_str!({:?})", existing(&vectors, "page.html"));
    for (name, text) in [("vectors.rs", list), ("page.rs", page)] {
        std::fs::write(Path::new(&out).join(name), text).expect("OUT_DIR is writable");
    }
}

/// A file or directory of the vectors; the build script runs again when it changes.
fn existing(vectors: &Path, name: &str) -> PathBuf {
    let path = vectors.join(name).canonicalize();
    let path = path.unwrap_or_else(|error| panic!("{}/{name}: {error}", vectors.display()));
    println!("cargo:rerun-if-changed={}", path.display());
    path
}

/// The files sorted by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().expect("directory can be listed");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("directory entry").path()).collect();
    files.sort();
    files
}
