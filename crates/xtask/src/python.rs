//! Pythons of our own, each with the packages that something needs.

use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::{machine, workspace};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A Python of this name below the target directory, with just these packages in it. It is set up once.
pub fn environment(name: &'static str, requirements: &Path) -> Result<PathBuf, String> {
    static KNOWN: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    // Held until all is there: who comes meanwhile needs the same.
    let mut known = KNOWN.lock().map_err(|_| "an earlier set-up of a Python panicked".to_owned())?;
    if let Some(python) = known.get(name) {
        return Ok(python.clone());
    }
    let python = set_up(name, requirements)?;
    known.insert(name, python.clone());
    Ok(python)
}

fn set_up(name: &str, requirements: &Path) -> Result<PathBuf, String> {
    let home = workspace::target_dir().join(name);
    let python = home.join("bin/python3");
    // Written when all of it is there.
    let (stamp, wanted) =
        (home.join("requirements.txt"), workspace::read(&workspace::root().join(requirements))?);
    if workspace::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let what = format!("the Python packages of {}, below the target folder", requirements.display());
    machine::may_install(&what)?;
    let has_pip = || Run::new(&python).args(["-m", "pip", "--version"]).capture().is_ok();
    if !has_pip() {
        make(&home)?;
    }
    let install =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"];
    Run::new(&python).args(install).args([requirements]).limit(300).check()?;
    workspace::write(&stamp, &wanted)?;
    Ok(python)
}

/// Debian keeps a part of `venv` in a package of its own, so only making one tells whether it works.
fn make(home: &Path) -> Result<(), String> {
    let make = || Run::new("python3").args(["-m", "venv", "--clear"]).args([home]).capture().is_ok();
    machine::need("python3 with its module venv", &["python3", "python3-venv"], make)
}

/// A script that asks a program of the verification package, and Python packages, the same.
pub struct Comparison {
    /// The Python that has the packages, which `requirements.txt` in the folder names.
    pub environment: &'static str,
    pub folder: &'static str,
    pub script: &'static str,
    pub program: &'static str,
    /// Of the verification package, which the program needs.
    pub features: &'static str,
    /// The variable that asks once more what an earlier run has asked.
    pub seed: &'static str,
}

impl Comparison {
    /// All cases of the script, or so many.
    pub fn judge(&self, what: &str, cases: Option<u32>) -> Outcome {
        let folder = Path::new(self.folder);
        let python = environment(self.environment, &folder.join("requirements.txt"))?;
        // As the suite is built, so that little is left to build.
        let build = ["build", "--quiet", "--package", "verification", "--bin", self.program];
        own_cargo().args(build).args(["--features", self.features]).check()?;
        let mut run = Run::new(python).args(["-B"]).args([folder.join(self.script)]).limit(600);
        if let Some(cases) = cases {
            run = run.args(["--cases", &cases.to_string()]);
        }
        if let Some(seed) = std::env::var_os(self.seed) {
            run = run.args(["--seed".into(), seed]);
        }
        let program = workspace::target_dir().join("debug").join(self.program);
        let mut tally = Tally::default();
        tally.check(what, run.args(["--"]).args([program]).check());
        Ok(tally)
    }
}
