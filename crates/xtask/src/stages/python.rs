//! Pythons of our own, each with the packages that something needs.

use crate::process::Run;
use crate::{machine, workspace};
use std::path::{Path, PathBuf};

/// A Python of this name below the target directory, with just these packages in it.
pub fn environment(name: &str, requirements: &Path) -> Result<PathBuf, String> {
    let home = workspace::target_dir().join(name);
    let python = home.join("bin/python3");
    let has_pip = || Run::new(&python).args(["-m", "pip", "--version"]).capture().is_ok();
    if !has_pip() {
        make(&home)?;
    }
    let install =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"];
    Run::new(&python).args(install).args([requirements]).limit(300).check()?;
    Ok(python)
}

/// Debian keeps a part of `venv` in a package of its own, so only making one tells whether it works.
fn make(home: &Path) -> Result<(), String> {
    let make = || Run::new("python3").args(["-m", "venv", "--clear"]).args([home]).capture().is_ok();
    machine::need("python3 with its module venv", &["python3", "python3-venv"], make)
}
