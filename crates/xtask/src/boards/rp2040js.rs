//! An emulator that is a package for Node.js.

use crate::process::Run;
use crate::{machine, workspace};
use std::path::{Path, PathBuf};

const SCRIPT: &str = "run.mjs";
const LOCKFILE: &str = "package-lock.json";
const FILES: [&str; 3] = ["package.json", LOCKFILE, SCRIPT];

/// What npm writes when it has installed everything, as its last act.
const INSTALLED: &str = "node_modules/.package-lock.json";

/// Installs the emulator of this folder below the target directory, where it is not left from an earlier time, and gives
/// the script that runs it.
pub fn set_up(folder: &Path) -> Result<PathBuf, String> {
    machine::need_program("node", "nodejs")?;
    machine::need_program("npm", "npm")?;
    let place = workspace::target_dir().join("rp2040js");
    let is_installed = place.join(INSTALLED).exists() && same(&folder.join(LOCKFILE), &place.join(LOCKFILE));
    for file in FILES {
        workspace::write(&place.join(file), &workspace::read(&folder.join(file))?)?;
    }
    if !is_installed {
        machine::may_install("the npm packages of the emulator rp2040js, below the target folder")?;
        // An installation that fails must not be taken for the one before it.
        let _ = std::fs::remove_file(place.join(INSTALLED));
        let quietly = ["ci", "--no-audit", "--no-fund", "--ignore-scripts"];
        Run::new("npm").args(quietly).dir(&place).limit(180).capture()?;
    }
    Ok(place.join(SCRIPT))
}

fn same(here: &Path, there: &Path) -> bool {
    let (here, there) = (workspace::read(here), workspace::read(there));
    here.is_ok() && here == there
}
