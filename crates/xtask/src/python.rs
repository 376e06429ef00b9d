//! Runs Python: the tests of `tests/python`, and by hand comparisons with other frameworks.
//!
//! `tests/python/requirements/NAME.txt` lists the packages of an environment; `pytest.mark.NAME` marks the
//! tests that need it.

use crate::machine::Need;
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::{boards, machine, workspace};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Seconds for the packages of one environment: some have hundreds of megabytes.
const DOWNLOAD: u64 = 20 * 60;

/// What the tests of `main` run: a certificate, a script, compilers of adapters, and the packages.
pub const NEEDS: [Need; 6] = [
    Need::Program("openssl", "openssl"),
    Need::Program("go", "golang-go"),
    Need::Program("javac", "default-jdk-headless"),
    Need::Program("gcc", "gcc"),
    Need::Program("g++", "g++"),
    Need::Python("main"),
];

/// Returns the Python of an environment, in the target directory. It is set up once.
pub fn environment(name: &str) -> Result<PathBuf, String> {
    // Held until the set-up is done: another thread may need the same environment.
    static SET_UP: Mutex<()> = Mutex::new(());
    let _held = SET_UP.lock().map_err(|_| "an earlier set-up of a Python panicked".to_owned())?;
    // Debian's PyTorch is for CPUs only; PyPI's has gigabytes for others.
    let (base, modules, packages) = match name {
        "torch" => ("/usr/bin/python3", "ensurepip, venv, torch", "python3-torch python3-numpy python3-venv"),
        _ => ("python3", "ensurepip, venv", "python3 python3-venv"),
    };
    let packages: Vec<&str> = packages.split(' ').collect();
    let requirements = format!("tests/python/requirements/{name}.txt");
    let wanted = workspace::read(&workspace::root().join(&requirements))?;
    let home = workspace::target_dir().join(format!("python-{name}"));
    let python = home.join("bin/python3");
    // Written after everything is installed.
    let stamp = home.join("requirements.txt");
    if workspace::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let probe = || Run::new(base).args(["-c", &format!("import {modules}")]).capture().is_ok();
    machine::need(&format!("{base} with the modules {modules}"), &packages, probe)?;
    let what = format!("the Python packages of {requirements}, in the target directory");
    machine::install(&what, &format!("pip install --no-deps -r {requirements}"), || {
        // `--clear` removes an unfinished earlier set-up.
        let venv = Run::new(base).args(["-m", "venv", "--clear"]);
        let venv = if name == "torch" { venv.args(["--system-site-packages"]) } else { venv };
        venv.args([&home]).capture()?;
        pip(&python, "install").args(["--requirement", &requirements]).limit(DOWNLOAD).capture().map(drop)
    })?;
    workspace::write(&stamp, &wanted)?;
    Ok(python)
}

/// Returns a run of pip for only the named packages, with the programs of their environment.
fn pip(python: &Path, word: &str) -> Run {
    let own = python.parent().unwrap_or(python).display();
    let path = format!("{own}:{}", std::env::var("PATH").unwrap_or_default());
    let words = ["-m", "pip", word, "--quiet", "--disable-pip-version-check", "--no-deps"];
    Run::new(python).args(words).env("PATH", path)
}

/// Builds the wheel or the command for tests, and returns the target directory. Releases are optimised more;
/// `cargo xtask verify` tests them.
fn build_for_tests(build: Run) -> Result<PathBuf, String> {
    let target = workspace::target_dir().join("python");
    let build = build.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1").env("CARGO_PROFILE_RELEASE_PANIC", "abort");
    build.env("CARGO_TARGET_DIR", &target).limit(30 * 60).capture().map(|_| target)
}

/// Builds the command that tests run from the libraries that the wheel is built from, and returns its path.
pub fn tested_command() -> Result<PathBuf, String> {
    let package =
        ["--package", "safetensors-host", "--manifest-path", "crates/safetensors-python/Cargo.toml"];
    let target = build_for_tests(own_cargo().words("build --release --locked --quiet").args(package))?;
    Ok(target.join("release/safetensors"))
}

/// Returns the Python of an environment, with the package as it is now. The wheel is for every Python, and
/// cargo builds only what has changed.
pub fn installed(name: &str) -> Result<PathBuf, String> {
    // Another thread may build the same wheel.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _held = BUILDING.lock().map_err(|_| "an earlier build of the wheel panicked".to_owned())?;
    let (python, wheels) = (environment(name)?, workspace::target_dir().join("python/wheels"));
    let wheel = ["--no-build-isolation", "crates/safetensors-python", "--wheel-dir"];
    build_for_tests(pip(&environment("main")?, "wheel").args(wheel).args([&wheels]))?;
    let install = ["--force-reinstall", "--no-index", "embedded-safetensors", "--find-links"];
    pip(&python, "install").args(install).args([wheels]).capture()?;
    Ok(python)
}

/// Runs the tests of an environment with the command and the package as they are now. No test is a failure.
pub fn pytest(name: &str) -> Outcome {
    let (command, python) = (tested_command()?, installed(name)?);
    if name == "main" {
        machine::npm("tests/python/huggingface-js")?;
    }
    let run = Run::new(python).args(["-B", "-m", "pytest", "tests/python", "-m", name]);
    let run = run.args(if name == "main" { &["-n", "2"][..] } else { &[] });
    let mut tally = Tally::default();
    let code = workspace::in_memory(run).env("SAFETENSORS_BIN", command).limit(15 * 60).lines(|line| {
        println!("{line}");
        if let Some(test) = line.strip_prefix("FAILED ").or(line.strip_prefix("ERROR ")) {
            tally.failed += 1;
            tally.failure(test);
        }
        // The last line: `2 failed, 158 passed in 56.50s`.
        let passed = |part: &str| part.split_once(" passed")?.0.parse().ok();
        tally.passed = line.split(", ").find_map(passed).unwrap_or(tally.passed);
    })?;
    if code != Some(0) && tally.failed == 0 {
        tally.check("pytest", Err(format!("it ended with {code:?}")));
    }
    Ok(tally)
}

/// What is compared by hand: gigabytes of packages, or an hour of builds.
pub const ORACLES: &str = "frameworks | programs | aprender";

pub fn oracle(name: &str) -> Outcome {
    match name {
        "frameworks" | "programs" => pytest(name),
        _ => {
            let run = own_cargo().dir(&workspace::root().join("tests/aprender"));
            let run = run.env("CARGO_TARGET_DIR", workspace::target_dir().join("aprender"));
            let check = run.args(["run", "--locked", "--quiet", "--", "check"]).limit(30 * 60).check();
            Ok(Tally::of("aprender loads what the library writes, with the same predictions", check))
        }
    }
}

/// Frameworks in `tests/interop`, and the environment of each; those without one are in Rust.
const FRAMEWORKS: &str = "aprender: burn: candle: huggingface_hub:torch jax:frameworks mlx:frameworks numpy:main \
    paddle:frameworks safestructures:main tensorflow:tensorflow torch:torch";

/// Lets each framework write its file in `tests/interop` and read ours, and writes the page with the results.
pub fn interop() -> Outcome {
    let [board, case] = boards::INTEROP;
    // Reports what is missing before anything is written.
    boards::find(board)?.prepare()?;
    bless("interop::ours")?;
    for (name, environment) in FRAMEWORKS.split_whitespace().filter_map(|pair| pair.split_once(':')) {
        println!("{name}");
        let (folder, target) = (workspace::root().join("tests/interop").join(name), workspace::target_dir());
        let raw = target.join("interop").join(name).join("results.json");
        workspace::write(&raw, b"")?;
        let run = match environment {
            "" => own_cargo()
                .dir(&folder)
                .env("CARGO_TARGET_DIR", target.join("interop"))
                .words("run --quiet --"),
            python => Run::new(self::environment(python)?).args(["-B", "tests/interop/interop.py", name]),
        };
        // No backtraces in errors, no search for accelerators, and fewer notes.
        let run = run.env("RUST_BACKTRACE", "0").env("JAX_PLATFORMS", "cpu").env("TF_CPP_MIN_LOG_LEVEL", "3");
        run.args([&raw]).limit(30 * 60).capture()?;
        let results = format(&workspace::text(&raw)?).ok_or_else(|| format!("{name}: no results"))?;
        workspace::write(&folder.join("results.json"), results.as_bytes())?;
    }
    boards::run_case(board, case, true)?;
    Ok(Tally::of("tests/interop is written", bless("interop::page")))
}

/// Lets tests of the suite write what they otherwise compare.
fn bless(tests: &str) -> Result<(), String> {
    let suite = ["--package", "verification", "--features", "std,oracle", "--test", "suite"];
    own_cargo().args(["test", "--quiet"]).args(suite).args([tests]).env("BLESS", "1").capture().map(drop)
}

/// Writes results with a line for each array.
fn format(results: &str) -> Option<String> {
    let results: Map<String, Value> = serde_json::from_str(results).ok()?;
    let part = |(name, value): (&String, &Value)| match value.as_object() {
        Some(arrays) if name != "versions" => {
            let lines = arrays.iter().map(|(name, array)| format!("    \"{name}\": {array}"));
            format!("  \"{name}\": {{\n{}\n  }}", lines.collect::<Vec<_>>().join(",\n"))
        }
        _ => format!("  \"{name}\": {value}"),
    };
    Some(format!("{{\n{}\n}}\n", results.iter().map(part).collect::<Vec<_>>().join(",\n")))
}
