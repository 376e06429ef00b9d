//! The conformance vectors: the generator, the results page, the runner.

use crate::process::Run;
use crate::python;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::workspace;
use std::path::{Path, PathBuf};

const FOLDER: &str = "tests/vectors";

/// Writes the vectors anew, and the page that says who is right about them.
pub fn generate() -> Result<(), String> {
    generator("generate").check()?;
    let (python, program) = (python_with_readers()?, release_program()?);
    results_page(&python, &program).check()
}

/// What is committed is what the generator writes.
pub fn check() -> Outcome {
    let mut tally = Tally::default();
    tally.check("the committed vectors are the generator's", generator("check").check());
    Ok(tally)
}

fn generator(command: &str) -> Run {
    let verification = ["--release", "--quiet", "--package", "verification", "--features", "oracle"];
    own_cargo().args(["run"]).args(verification).args(["--bin", "vectors", "--", command])
}

/// The Python readers say what the results page says; `safetensors decode` is right about every vector; `run.py` scores readers as
/// the command does.
pub fn readers() -> Outcome {
    let (python, program) = (python_with_readers()?, release_program()?);
    let mut tally = Tally::default();
    tally.check("the results page is true", results_page(&python, &program).args(["--check"]).check());
    let score =
        script(&python, "run.py").args(["--strict", "--large", "--"]).args([&program]).args(["decode"]);
    tally.check("safetensors decode is right about every vector", score.check());
    let compare = script(&python, "compare.py").args([&program]);
    tally.check("run.py and the command score readers alike", compare.check());
    Ok(tally)
}

fn results_page(python: &Path, program: &Path) -> Run {
    script(python, "results.py").args(["--decoder"]).args([program])
}

/// One of the scripts beside the vectors, leaving no compiled files there.
fn script(python: &Path, name: &str) -> Run {
    Run::new(python).args(["-B"]).args([Path::new(FOLDER).join(name)])
}

fn release_program() -> Result<PathBuf, String> {
    own_cargo().args(["build", "--release", "--quiet", "--package", "safetensors-host"]).check()?;
    Ok(workspace::target_dir().join("release/safetensors"))
}

/// A Python with the readers in it that the results page names.
fn python_with_readers() -> Result<PathBuf, String> {
    python::environment("python", &Path::new(FOLDER).join("requirements.txt"))
}
