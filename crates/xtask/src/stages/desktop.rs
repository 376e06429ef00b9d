//! The command, compared with the Python packages whose files it reads and writes.

use crate::process::Run;
use crate::python::environment;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::workspace;
use std::fs;
use std::path::{Path, PathBuf};

const FOLDER: &str = "host/tests/python";

/// Every script of the folder agrees with the release build of the command.
pub fn agree() -> Outcome {
    let python = environment("python-desktop", &Path::new(FOLDER).join("requirements.txt"))?;
    own_cargo().args(["build", "--release", "--quiet", "--package", "safetensors-host"]).check()?;
    let program = workspace::target_dir().join("release/safetensors");
    let mut tally = Tally::default();
    for script in scripts()? {
        let name = script.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let run = Run::new(&python).args(["-B"]).args([&script]).args(["--"]).args([&program]);
        tally.check(&format!("{name} finds no difference"), run.limit(600).check());
    }
    Ok(tally)
}

fn scripts() -> Result<Vec<PathBuf>, String> {
    let folder = workspace::root().join(FOLDER);
    let failed = |error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(&folder).map_err(failed)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()).map_err(failed));
    let mut scripts = paths.collect::<Result<Vec<_>, _>>()?;
    scripts.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    scripts.sort();
    if scripts.is_empty() { Err(format!("{FOLDER} has no script")) } else { Ok(scripts) }
}
