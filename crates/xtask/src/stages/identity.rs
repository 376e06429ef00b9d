//! Files, compared with those of the reference in Python.

use super::python;
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::workspace;
use std::path::Path;

const FOLDER: &str = "tests/writing/python";

/// Random dictionaries become the same bytes, and mean the same to either reader. `IDENTITY_SEED` asks once more what an
/// earlier run has asked.
pub fn files() -> Outcome {
    let folder = Path::new(FOLDER);
    let python = python::environment("python-identity", &folder.join("requirements.txt"))?;
    let build = ["build", "--release", "--quiet", "--package", "verification", "--bin", "writes"];
    own_cargo().args(build).check()?;
    let mut run = Run::new(python).args(["-B"]).args([folder.join("identity.py")]).limit(600);
    if let Some(seed) = std::env::var_os("IDENTITY_SEED") {
        run = run.args(["--seed".into(), seed]);
    }
    let mut tally = Tally::default();
    let program = workspace::target_dir().join("release/writes");
    tally.check("files are the reference's", run.args(["--"]).args([program]).check());
    Ok(tally)
}
