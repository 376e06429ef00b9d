//! `cargo xtask fuzz [SECONDS]`: runs fuzzed files through every API and compares with the reference.
//! `cargo xtask fuzz --c [SECONDS]`: runs fuzzed calls of the C API.

mod c;

use super::Command;
use crate::process::Run;
use crate::toolchain::{need_cargo_program, need_rust, own_cargo};
use crate::workspace;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "fuzz",
    about: "compare all APIs and the reference on fuzzed files (SECONDS: how long; 60 by default; --c: \
        fuzz the C API instead)",
    run,
};

const DIRECTORY: &str = "tests/fuzz";
const DEFAULT: u64 = 60;
/// Seconds for the build, which takes minutes with a sanitizer.
const BUILD: u64 = 30 * 60;
/// With `-fork`, libFuzzer continues after an input that takes too long or too much memory, unless told.
const FINDINGS: [&str; 3] = ["-ignore_timeouts=0", "-ignore_ooms=0", "-timeout=20"];

fn run(words: &[String]) -> Result<ExitCode, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (is_c, seconds) = match &words[..] {
        ["--c", rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let seconds = match *seconds {
        [] => DEFAULT,
        [seconds] => seconds.parse().map_err(|_| usage(seconds))?,
        [_, word, ..] => return Err(usage(word)),
    };
    need_rust("nightly", "which has sanitizers")?;
    let outcome = if is_c { c::fuzz(seconds) } else { fuzz_files(seconds) };
    outcome.map(|()| ExitCode::SUCCESS)
}

fn usage(word: &str) -> String {
    format!("what is \"{word}\"? usage: cargo xtask fuzz [--c] [SECONDS]")
}

fn fuzz_files(seconds: u64) -> Result<(), String> {
    need_cargo_program("cargo-fuzz", "cargo-fuzz")?;
    let corpus = directory("fuzz").join("corpus");
    own_cargo()
        .dir(&workspace::root().join(DIRECTORY))
        .args(["run", "--release", "--quiet", "--bin", "corpus"])
        .args([&corpus])
        .check()?;
    // The manifest in tests/fuzz sets which packages are compiled with which checks.
    let fuzz = ["+nightly", "fuzz", "run", "--release", "--fuzz-dir", DIRECTORY, "--target-dir"];
    let run = Run::new("cargo").args(fuzz).args([directory("fuzz").join("build")]).args(["header"]);
    let options = options(&directory("fuzz"), "a header", seconds)?;
    run.args([corpus]).args(["--"]).args(options).limit(seconds + BUILD).check()
}

/// Returns the options of a fuzzer that keeps its findings, `what` each, below `directory`.
fn options(directory: &Path, what: &str, seconds: u64) -> Result<Vec<String>, String> {
    let findings = directory.join("findings");
    let note = format!("Each file is {what} that a run of `cargo xtask fuzz` failed with.\n");
    workspace::write(&findings.join("README"), note.as_bytes())?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let options = [
        format!("-max_total_time={seconds}"),
        format!("-fork={workers}"),
        format!("-artifact_prefix={}/", findings.display()),
    ];
    Ok(options.into_iter().chain(FINDINGS.map(str::to_owned)).collect())
}

/// Returns a directory for what a fuzzer builds, its corpus and its findings, which are kept for later runs.
fn directory(name: &str) -> PathBuf {
    workspace::target_dir().join(name)
}
