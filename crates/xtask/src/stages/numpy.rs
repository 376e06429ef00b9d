//! Slices, compared with numpy's.

use super::python;
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::workspace;
use std::path::Path;

const FOLDER: &str = "tests/slicing/numpy";

/// Random slices are what numpy makes of them. `NUMPY_SEED` asks once more what an earlier run has asked.
pub fn slices() -> Outcome {
    let folder = Path::new(FOLDER);
    let python = python::environment("python-numpy", &folder.join("requirements.txt"))?;
    let build = ["build", "--release", "--quiet", "--package", "verification", "--bin", "slices"];
    own_cargo().args(build).check()?;
    let mut run = Run::new(python).args(["-B"]).args([folder.join("numpy_slices.py")]).limit(600);
    if let Some(seed) = std::env::var_os("NUMPY_SEED") {
        run = run.args(["--seed".into(), seed]);
    }
    let mut tally = Tally::default();
    let program = workspace::target_dir().join("release/slices");
    tally.check("slices are numpy's", run.args(["--"]).args([program]).check());
    Ok(tally)
}
