//! Sets up virtual environments of Python, each with the packages of one `requirements.txt`.

use crate::process::Run;
use crate::{machine, workspace};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The Python that Debian's packages are for.
pub const DEBIAN: &str = "/usr/bin/python3";

/// Returns a Python with just the packages of `requirements.txt` in `folder`, in the target directory under
/// this name. It is set up once.
pub fn environment(name: &str, folder: &Path) -> Result<PathBuf, String> {
    set_up(name, folder, &["python3", "-m", "venv", "--clear"])
}

/// Returns a Python as [`environment`] does, which also has Debian's packages.
pub fn environment_of_debian(name: &str, folder: &Path) -> Result<PathBuf, String> {
    set_up(name, folder, &[DEBIAN, "-m", "venv", "--clear", "--system-site-packages"])
}

/// Sets up a Python with these words, of which the last, the directory, is missing.
fn set_up(name: &str, folder: &Path, create: &[&str]) -> Result<PathBuf, String> {
    // Held until the set-up is done: another thread may need the same environment.
    static SET_UP: Mutex<()> = Mutex::new(());
    let _held = SET_UP.lock().map_err(|_| "an earlier set-up of a Python panicked".to_owned())?;
    let (home, requirements) = (workspace::target_dir().join(name), folder.join("requirements.txt"));
    let python = home.join("bin/python3");
    let wanted = workspace::read(&workspace::root().join(&requirements))?;
    // Written after everything is installed.
    let stamp = home.join("requirements.txt");
    if workspace::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    // Debian has a part of `venv` in a package of its own.
    let has_venv = || Run::new("python3").args(["-c", "import ensurepip, venv"]).capture().is_ok();
    machine::need("python3 with its module venv", &["python3", "python3-venv"], has_venv)?;
    let words =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"];
    let requirements = requirements.display().to_string();
    let what = format!("the Python packages of {requirements}, in the target directory");
    machine::install(&what, None, || {
        // `--clear` removes an unfinished earlier set-up.
        Run::new(create[0]).args(&create[1..]).args([&home]).capture()?;
        Run::new(&python).args(words).args([&requirements]).limit(300).capture().map(drop)
    })?;
    workspace::write(&stamp, &wanted)?;
    Ok(python)
}
