//! Pythons of our own, each with the packages that something needs.

use crate::process::Run;
use crate::{machine, workspace};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A Python of this name below the target directory, with just the packages of `requirements.txt` in `folder`. It is set
/// up once.
pub fn environment(name: &str, folder: &Path) -> Result<PathBuf, String> {
    // Held until all is there: who comes meanwhile may need the same.
    static SET_UP: Mutex<()> = Mutex::new(());
    let _held = SET_UP.lock().map_err(|_| "an earlier set-up of a Python panicked".to_owned())?;
    let (home, requirements) = (workspace::target_dir().join(name), folder.join("requirements.txt"));
    let python = home.join("bin/python3");
    let wanted = workspace::read(&workspace::root().join(&requirements))?;
    // Written when all of it is there.
    let stamp = home.join("requirements.txt");
    if workspace::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    // Debian keeps a part of `venv` in a package of its own.
    let has_venv = || Run::new("python3").args(["-c", "import ensurepip, venv"]).capture().is_ok();
    machine::need("python3 with its module venv", &["python3", "python3-venv"], has_venv)?;
    let words =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"];
    let requirements = requirements.display().to_string();
    let what = format!("the Python packages of {requirements}, below the target folder");
    machine::install(&what, None, || {
        // What an earlier run has left half done goes.
        Run::new("python3").args(["-m", "venv", "--clear"]).args([&home]).capture()?;
        Run::new(&python).args(words).args([&requirements]).limit(300).capture().map(drop)
    })?;
    workspace::write(&stamp, &wanted)?;
    Ok(python)
}
