//! Conformance vectors for safetensors readers: [`conformance!`] makes a test of a reader; [`load`] returns
//! the manifest for other programs.

pub mod manifest;
pub mod recipe;
mod suite;
pub mod table;
#[doc(hidden)]
pub mod twins;

pub use manifest::{MOST_LITE, Manifest, Ours, Source, TensorRow, Vector, Verdict, sha256};
pub use recipe::from_hex;
pub use suite::{Options, check};
pub use table::Table;

use std::path::{Path, PathBuf};

/// Returns the directory of the vectors, which are in the package.
pub fn folder() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packed = package.join("vectors");
    if packed.exists() { packed } else { package.join("../../tests/vectors") }
}

/// Reads the manifest of the committed vectors, without those whose files are never in memory.
///
/// # Panics
/// If the manifest cannot be read: no test of vectors can run without it.
pub fn load() -> Manifest {
    let mut manifest = load_all();
    manifest.vectors.retain(Vector::fits_memory);
    manifest
}

/// Reads the manifest of the committed vectors.
///
/// # Panics
/// If the manifest cannot be read.
pub fn load_all() -> Manifest {
    let path = folder().join("manifest.json");
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_package_has_the_version_of_the_suite() {
        assert_eq!(crate::load().suite, env!("CARGO_PKG_VERSION"));
    }
}
