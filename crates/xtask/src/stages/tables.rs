//! The tables of what elements are.

use crate::process::Run;
use crate::python;
use crate::report::{Outcome, Tally};
use std::path::Path;

const FOLDER: &str = "tests/elements";

/// Writes them anew.
pub fn generate() -> Result<(), String> {
    script()?.check()
}

/// What is committed is what numpy and ml_dtypes say.
pub fn check() -> Outcome {
    let mut tally = Tally::default();
    tally.check("the committed tables are the script's", script()?.args(["--check"]).check());
    Ok(tally)
}

/// The script beside the tables, leaving no compiled files there.
fn script() -> Result<Run, String> {
    let folder = Path::new(FOLDER);
    let python = python::environment("python-tables", &folder.join("requirements.txt"))?;
    Ok(Run::new(python).args(["-B"]).args([folder.join("make.py")]))
}
