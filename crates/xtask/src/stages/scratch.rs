//! A package below the target directory, whose programs are written as they are needed.

use crate::process::Run;
use crate::toolchain::own_cargo;
use crate::workspace;
use std::path::PathBuf;

/// A package that depends on the core alone.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A package of this name with nothing in it.
    pub fn new(name: &str) -> Result<Self, String> {
        let scratch = Self(workspace::target_dir().join("scratch").join(name));
        // What an earlier run wrote is no part of this one.
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

    /// `cargo SUBCOMMAND` in it. All such packages share what they build of the core.
    pub fn cargo(&self, subcommand: &str) -> Run {
        let target = workspace::target_dir().join("scratch/target");
        own_cargo().dir(&self.0).env("CARGO_TARGET_DIR", target).args([subcommand])
    }
}
