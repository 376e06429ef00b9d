//! The Python package: its own tests, those of each framework, and the reference's.

use super::scripts::Packages;
use crate::process::Run;
use crate::python::{Base, TORCH, environment, environment_of, shared_environment};
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::workspace;
use std::fs;
use std::path::{Path, PathBuf};

/// The package.
const PACKAGE: &str = "crates/safetensors-python";

/// The environments: for its tests, ...
pub const OWN: Packages = ["python-package", "crates/safetensors-python/tests"];
/// ... and for the reference's.
pub const REFERENCE: Packages = ["python-reference", "crates/safetensors-python/tests/reference"];

/// The release whose tests are run.
const RELEASE: &str = "0.8.0";

/// The frameworks that need environments of their own: the packages are those of their adapters in
/// `tests/interop`, and the tests `test_NAME.py`.
const FRAMEWORKS: [&str; 4] = ["jax", "mlx", "paddle", "tensorflow"];

/// Builds the package and installs it into an environment, whose packages include all that the build needs.
/// Cargo builds only what has changed.
fn install(python: &Path) -> Result<(), String> {
    // Its build is that of the environment's maturin.
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-build-isolation"];
    let words = [&words[..], &["--no-deps", "--force-reinstall"]].concat();
    with_programs(python, Run::new(python).args(words))
        .args([workspace::root().join(PACKAGE)])
        .env("CARGO_TARGET_DIR", workspace::target_dir().join("python-package-build"))
        .limit(30 * 60)
        .capture()
        .map(drop)
}

/// Makes the programs of an environment available.
fn with_programs(python: &Path, run: Run) -> Run {
    let own = python.parent().map(Path::to_path_buf);
    let others = std::env::var_os("PATH").unwrap_or_default();
    let paths = own.into_iter().chain(std::env::split_paths(&others));
    run.env("PATH", std::env::join_paths(paths).unwrap_or_default())
}

/// Returns the Python of the tests, with the package as it is now.
pub fn installed() -> Result<PathBuf, String> {
    let python = environment(OWN[0], Path::new(OWN[1]))?;
    install(&python).map(|()| python)
}

fn pytest(python: &Path) -> Run {
    Run::new(python).args(["-B", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs"]).limit(600)
}

/// Runs the tests of the package, with every vector.
pub fn own() -> Outcome {
    let python = installed()?;
    let tests = pytest(&python).dir(&workspace::root().join(PACKAGE));
    Ok(Tally::of("the tests of the package, and every vector", tests.check()))
}

/// Returns the Python of a framework, with the packages of the tests.
pub fn framework(name: &str) -> Result<PathBuf, String> {
    let adapter = Path::new("tests/interop").join(name);
    shared_environment(Base::Any, &format!("python-frameworks/{name}"), &[&adapter, Path::new(OWN[1])])
}

/// Installs the frameworks.
pub fn need_frameworks() -> Vec<Result<(), String>> {
    FRAMEWORKS.map(|name| framework(name).map(drop)).into()
}

/// Runs the tests of JAX, MLX, Paddle and TensorFlow.
pub fn frameworks() -> Outcome {
    let mut tally = Tally::default();
    for name in FRAMEWORKS {
        let python = framework(name)?;
        install(&python)?;
        // It fails if the framework cannot be imported, because then there are no tests.
        let tests = pytest(&python).args([format!("tests/test_{name}.py")]);
        let tests = tests.dir(&workspace::root().join(PACKAGE));
        // No search for accelerators, and fewer notes.
        let tests = tests.env("JAX_PLATFORMS", "cpu").env("TF_CPP_MIN_LOG_LEVEL", "3");
        tally.check(&format!("the tests of {name}"), tests.check());
    }
    Ok(tally)
}

/// Checks that the library for conversions reads the checkpoints that TensorFlow writes.
pub fn checkpoints() -> Outcome {
    let example =
        ["build", "--quiet", "--release", "--package", "safetensors-convert", "--example", "tensorflow"];
    own_cargo().args(example).check()?;
    let program = workspace::target_dir().join("release/examples/tensorflow");
    let script = ["-B", "tests/tensorflow/checkpoints.py", "--"];
    let run = Run::new(framework("tensorflow")?).args(script).args([program]).limit(600);
    Ok(Tally::of("TensorFlow's checkpoints are read as it reads them", run.check()))
}

/// Runs the tests of torch, and the reference's own tests but the listed exceptions.
pub fn reference() -> Outcome {
    let python = environment_of(TORCH, REFERENCE[0], Path::new(REFERENCE[1]))?;
    install(&python)?;
    let torch = pytest(&python).args(["tests/test_torch.py"]).dir(&workspace::root().join(PACKAGE));
    let mut tally = Tally::of("the tests of torch", torch.check());
    let tests = reference_tests(&python)?;
    let run = pytest(&python).args(["-p", "alias", "-rx", "tests"]).dir(&tests);
    let run = run.env("PYTHONPATH", workspace::root().join(REFERENCE[1]));
    tally.check("the reference's tests, but the exceptions in alias.py", run.check());
    Ok(tally)
}

/// Unpacks the source distribution of the reference, and returns the directory of its tests, which write into
/// it.
fn reference_tests(python: &Path) -> Result<PathBuf, String> {
    let home = workspace::target_dir().join("python-reference-tests");
    let release = format!("safetensors-{RELEASE}");
    let archive = home.join(format!("{release}.tar.gz"));
    if !archive.is_file() {
        fs::create_dir_all(&home).map_err(|error| error.to_string())?;
        let words = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"];
        let download =
            Run::new(python).args(words).args(["--no-build-isolation", &format!("safetensors=={RELEASE}")]);
        with_programs(python, download).dir(&home).capture()?;
    }
    let _ = fs::remove_dir_all(home.join(&release));
    Run::new("tar").dir(&home).args(["-x", "-f"]).args([&archive]).capture()?;
    Ok(home.join(release).join("bindings/python"))
}
