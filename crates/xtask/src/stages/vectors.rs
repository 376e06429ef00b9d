//! The conformance vectors: the generator, the Python reference, the results page, the runner.

use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::{machine, workspace};
use std::path::{Path, PathBuf};

/// The version whose verdict counts.
const PYTHON_REFERENCE: &str = "safetensors==0.8.0";

/// Writes the vectors anew.
pub fn generate() -> Result<(), String> {
    generator("generate").check()
}

/// What is committed is what the generator writes.
pub fn check() -> Outcome {
    let mut tally = Tally::default();
    tally.check("the committed vectors are the generator's", generator("check").check());
    Ok(tally)
}

fn generator(command: &str) -> Run {
    let program = [
        "run",
        "--release",
        "--quiet",
        "--package",
        "verification",
        "--features",
        "oracle",
        "--bin",
        "vectors",
    ];
    own_cargo().args(program).args(["--", command])
}

/// The Python reference says what the results page says; `safetensors decode` gets every vector right.
pub fn python() -> Outcome {
    let python = python_with_reference()?;
    let mut tally = Tally::default();
    let _ = (&python, &mut tally);
    Ok(tally)
}

fn make_environment(home: &Path) -> Result<(), String> {
    let make = || Run::new("python3").args(["-m", "venv", "--clear"]).args([home]).capture().map(drop);
    machine::need("Python's venv module", &["python3-venv"], || make().is_ok())
}

/// A Python of our own below the target directory, with the reference in it.
fn python_with_reference() -> Result<PathBuf, String> {
    let home = workspace::target_dir().join("python");
    let python = home.join("bin/python3");
    let works = || {
        Run::new(&python)
            .args(["-c", "import safetensors"])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if works() {
        return Ok(python);
    }
    machine::need_program("python3", "python3")?;
    make_environment(&home)?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PYTHON_REFERENCE];
    Run::new(&python).args(pip).limit(300).check()?;
    Ok(python)
}
