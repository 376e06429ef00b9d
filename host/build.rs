//! Packs the conformance vectors and the template of their page for `conform`, which contains them, so that
//! an installed command needs no copy of the repository.

use flate2::{Compression, write::DeflateEncoder};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    // A link, which the package contains as files. Git on Windows may write a link as a file.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("CARGO_MANIFEST_DIR is set");
    let here = Path::new(&here);
    let vectors = ["vectors", "../tests/vectors"].map(|path| here.join(path));
    let vectors = vectors.into_iter().find(|path| path.is_dir()).expect("the vectors are beside the package");
    let out = std::env::var_os("OUT_DIR").expect("OUT_DIR is set");
    let mut pack = DeflateEncoder::new(
        std::fs::File::create(Path::new(&out).join("vectors.pack"))?,
        Compression::best(),
    );
    for name in ["manifest.json", "page.html"] {
        add(&mut pack, name, &existing(&vectors, name))?;
    }
    for folder in ["either", "invalid", "valid"] {
        for path in files(&existing(&vectors, folder))? {
            let name = path.file_name().and_then(|name| name.to_str()).expect("names of vectors are ASCII");
            add(&mut pack, &format!("{folder}/{name}"), &path)?;
        }
    }
    pack.finish().map(drop)
}

/// Adds a file: the length of its name and the name, its own length and its bytes.
fn add(pack: &mut impl Write, name: &str, path: &Path) -> io::Result<()> {
    for part in [name.as_bytes(), &std::fs::read(path)?] {
        pack.write_all(&u32::try_from(part.len()).expect("vectors in files are short").to_le_bytes())?;
        pack.write_all(part)?;
    }
    Ok(())
}

/// A file or directory of the vectors; the build script runs again when it changes.
fn existing(vectors: &Path, name: &str) -> PathBuf {
    let path = vectors.join(name).canonicalize();
    let path = path.unwrap_or_else(|error| panic!("{}/{name}: {error}", vectors.display()));
    println!("cargo:rerun-if-changed={}", path.display());
    path
}

/// The files sorted by name.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files =
        folder.read_dir()?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}
