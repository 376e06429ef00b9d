//! `cargo xtask fuzz [TARGET] [SECONDS]`: runs fuzzed headers through every API and compares with the
//! reference; or fuzzed files through the reader of another format.
//! `cargo xtask fuzz --c [SECONDS]`: runs fuzzed calls of the C API.

mod c;

use super::Command;
use crate::process::Run;
use crate::toolchain::{need_cargo_program, need_rust, own_cargo};
use crate::{python, workspace};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "fuzz",
    about: "compare all APIs and the reference on fuzzed headers (TARGET: gguf, numpy, tensorflow or torch, to \
        fuzz that reader instead; SECONDS: how long; 60 by default; --c: fuzz the C API instead)",
    run,
};

const HEADER: &str = "header";
const DIRECTORY: &str = "tests/fuzz";
/// The targets of a package of its own, which builds in minutes.
const READERS: [&str; 4] = ["gguf", "numpy", "tensorflow", "torch"];
const READERS_DIRECTORY: &str = "tests/fuzz/readers";
/// The longest file of a reader in bytes, and the largest allocation in mebibytes.
const OF_READERS: [&str; 2] = ["-max_len=4096", "-malloc_limit_mb=64"];
/// Files in memory are made and removed faster.
const MEMORY: &str = "/dev/shm";
const DEFAULT: u64 = 60;
/// Seconds for the build, which takes minutes with a sanitizer.
const BUILD: u64 = 30 * 60;
/// With `-fork`, libFuzzer continues after an input that takes too long or too much memory, unless told.
const FINDINGS: [&str; 3] = ["-ignore_timeouts=0", "-ignore_ooms=0", "-timeout=20"];

fn run(words: &[String]) -> Result<ExitCode, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_target = |word: &str| word == "--c" || word == HEADER || READERS.contains(&word);
    let (target, seconds) = match &words[..] {
        [target, rest @ ..] if is_target(target) => (*target, rest),
        rest => (HEADER, rest),
    };
    let seconds = match *seconds {
        [] => DEFAULT,
        [seconds] => seconds.parse().map_err(|_| usage(seconds))?,
        [_, word, ..] => return Err(usage(word)),
    };
    need_rust("nightly", "which has sanitizers")?;
    let outcome = match target {
        "--c" => c::fuzz(seconds),
        HEADER => fuzz_headers(seconds),
        reader => fuzz_reader(reader, seconds),
    };
    outcome.map(|()| ExitCode::SUCCESS)
}

fn usage(word: &str) -> String {
    let targets = READERS.join("|");
    format!("what is \"{word}\"? usage: cargo xtask fuzz [{HEADER}|{targets}|--c] [SECONDS]")
}

fn fuzz_headers(seconds: u64) -> Result<(), String> {
    need_cargo_program("cargo-fuzz", "cargo-fuzz")?;
    let corpus = directory("fuzz").join("corpus");
    write_seeds(DIRECTORY, &["--release", "--bin", "corpus"]).args([&corpus]).check()?;
    let options = options(&directory("fuzz"), "a header", seconds)?;
    cargo_fuzz(DIRECTORY, HEADER).args([corpus]).args(["--"]).args(options).limit(seconds + BUILD).check()
}

fn fuzz_reader(reader: &str, seconds: u64) -> Result<(), String> {
    need_cargo_program("cargo-fuzz", "cargo-fuzz")?;
    let own = directory("fuzz").join(reader);
    let corpus = own.join("corpus");
    write_seeds(READERS_DIRECTORY, &["--bin", "seeds"])
        .args([reader.as_ref(), corpus.as_os_str()])
        .check()?;
    if reader == "torch" {
        let script = workspace::root().join(READERS_DIRECTORY).join("torch.py");
        Run::new(python::environment("torch")?).args(["-B"]).args([&script, &corpus]).check()?;
    }
    let words = workspace::root().join(READERS_DIRECTORY).join(format!("{reader}.dict"));
    let dictionary = words.exists().then(|| format!("-dict={}", words.display()));
    let run = cargo_fuzz(READERS_DIRECTORY, reader).args([corpus]).args(["--"]);
    let run = if Path::new(MEMORY).is_dir() { run.env("TMPDIR", MEMORY) } else { run };
    let run = run.args(options(&own, "a file", seconds)?).args(OF_READERS).args(dictionary);
    run.limit(seconds + BUILD).check()
}

/// Returns a run of the program that writes the initial corpus.
fn write_seeds(package: &str, program: &[&str]) -> Run {
    own_cargo().dir(&workspace::root().join(package)).args(["run", "--quiet"]).args(program)
}

/// Returns a run of a fuzzer. The manifest of its package sets what is compiled with which checks.
fn cargo_fuzz(package: &str, target: &str) -> Run {
    let build = directory("fuzz").join("build");
    let fuzz = ["+nightly", "fuzz", "run", "--release", "--fuzz-dir", package, "--target-dir"];
    Run::new("cargo").args(fuzz).args([build]).args([target])
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
