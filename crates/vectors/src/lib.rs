//! The conformance vectors of `tests/vectors` for programs: what the manifest says, how the files are made that are too large to be
//! kept, what a reader answers to a file, and whether that is right.

pub mod manifest;
pub mod protocol;
pub mod recipe;
pub mod scoring;
pub mod table;

pub use manifest::{Answers, Code, Manifest, Ours, TensorRow, Vector, Verdict, sha256};
pub use protocol::Answer;
pub use recipe::Recipe;
pub use scoring::Score;
pub use table::{Table, Tensor};

use std::path::{Path, PathBuf};

/// The folder of the vectors.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors")
}

/// The manifest of the committed vectors.
///
/// # Panics
/// When it cannot be read: no test of vectors means anything then.
pub fn load() -> Manifest {
    let path = folder().join("manifest.json");
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Manifest::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The vectors that are made by recipes.
pub fn recipes() -> impl Iterator<Item = Vector> {
    load().vectors.into_iter().filter(|vector| vector.recipe.is_some())
}
