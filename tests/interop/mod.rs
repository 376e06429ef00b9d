//! Files that frameworks wrote, and what they read of ours: values are equal bit for bit.
//!
//! `cargo xtask generate interop` writes the files and results of the frameworks; README.md describes them.

mod board;
mod ours;
mod page;
mod reading;
mod results;

use std::path::{Path, PathBuf};

/// Returns the directory of the files.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop")
}

/// Compares a file with what it must be, or with `BLESS=1` writes it.
fn compare(path: &Path, expected: &[u8]) {
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, expected).expect("writable");
    }
    let committed = std::fs::read(path).unwrap_or_default();
    assert!(
        committed == expected,
        "{} is out of date; `cargo xtask generate interop` writes it",
        path.display()
    );
}
