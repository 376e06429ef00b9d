//! `cargo xtask fuzz [SECONDS]`: runs fuzzed files through every API and compares with the reference.

use super::Command;
use crate::process::Run;
use crate::toolchain::{need_cargo_program, need_rust, own_cargo};
use crate::workspace;
use std::path::PathBuf;
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "fuzz",
    about: "compare all APIs and the reference on fuzzed files (SECONDS: how long; 60 by default)",
    run,
};

const FOLDER: &str = "tests/fuzz";
const DEFAULT: u64 = 60;
/// Seconds for the build, which takes minutes with a sanitizer.
const BUILD: u64 = 30 * 60;

fn run(words: &[String]) -> Result<ExitCode, String> {
    let seconds = match words {
        [] => DEFAULT,
        [seconds] => seconds.parse().map_err(|_| usage(seconds))?,
        [_, word, ..] => return Err(usage(word)),
    };
    need_rust("nightly", "which has sanitizers")?;
    need_cargo_program("cargo-fuzz", "cargo-fuzz")?;
    let corpus = folder("corpus");
    own_cargo()
        .dir(&workspace::root().join(FOLDER))
        .args(["run", "--release", "--quiet", "--bin", "corpus"])
        .args([&corpus])
        .check()?;
    // Findings and the corpus are kept for later runs.
    let findings = folder("findings");
    workspace::write(
        &findings.join("README"),
        b"Each file is a header that a run of `cargo xtask fuzz` failed with.\n",
    )?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    // The manifest in tests/fuzz sets which packages are compiled with which checks.
    let fuzz = ["+nightly", "fuzz", "run", "--release", "--fuzz-dir", FOLDER, "--target-dir"];
    let run = Run::new("cargo").args(fuzz).args([folder("build")]).args(["header"]).args([corpus]);
    let options = [
        format!("-max_total_time={seconds}"),
        format!("-fork={workers}"),
        format!("-artifact_prefix={}/", findings.display()),
    ];
    run.args(["--"]).args(options).limit(seconds + BUILD).check()?;
    Ok(ExitCode::SUCCESS)
}

fn usage(word: &str) -> String {
    format!("what is \"{word}\"? usage: cargo xtask fuzz [SECONDS]")
}

fn folder(name: &str) -> PathBuf {
    workspace::target_dir().join("fuzz").join(name)
}
