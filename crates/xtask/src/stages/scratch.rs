//! Packages in the target directory whose programs are written by stages.

use crate::process::Run;
use crate::toolchain::own_cargo;
use crate::workspace;
use std::path::PathBuf;

/// A package that depends only on the library.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Creates an empty package with this name.
    pub fn new(name: &str) -> Result<Self, String> {
        let scratch = Self(workspace::target_dir().join("scratch").join(name));
        // Files from an earlier run must not be built.
        let _ = std::fs::remove_dir_all(scratch.path("src"));
        let core = workspace::root().join("crates/embedded-safetensors");
        let manifest = format!(
            "[workspace]\n\n[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [dependencies]\nembedded-safetensors = {{ path = {core:?} }}\n"
        );
        scratch.write("Cargo.toml", manifest.as_bytes())?;
        scratch.write("src/lib.rs", b"//! Empty.\n")?;
        Ok(scratch)
    }

    /// Writes one of its files.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<(), String> {
        workspace::write(&self.path(path), bytes)
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// Returns `cargo SUBCOMMAND` in the package. All such packages share a target directory.
    pub fn cargo(&self, subcommand: &str) -> Run {
        let target = workspace::target_dir().join("scratch/target");
        own_cargo().dir(&self.0).env("CARGO_TARGET_DIR", target).args([subcommand])
    }
}
