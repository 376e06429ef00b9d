//! `cargo xtask fuzz`: runs a target of `tests/fuzz`, or that of the C API.

use crate::machine::Need;
use crate::process::Run;
use crate::toolchain::own_cargo;
use crate::{python, workspace};
use std::path::Path;

pub const ARGUMENTS: &str = "[header | slices | index | files | receivers | replies | gguf | numpy | onnx | tensorflow | tflite | torch | c] [SECONDS]";

/// A fuzzer: its name, the package that has it, and the program there that writes the initial corpus.
const FUZZERS: [(&str, &str, &str); 13] = [
    ("c", "crates/safetensors-c/fuzz", "run --quiet --bin seeds --"),
    ("header", "tests/fuzz", "run --quiet --release --bin corpus -- headers"),
    ("slices", "tests/fuzz", NUMBERS),
    ("index", "tests/fuzz", NUMBERS),
    ("files", "tests/fuzz", NUMBERS),
    ("receivers", "tests/fuzz", NUMBERS),
    ("replies", "tests/fuzz", NUMBERS),
    ("gguf", READERS, "run --quiet --bin seeds -- gguf"),
    ("numpy", READERS, "run --quiet --bin seeds -- numpy"),
    ("onnx", READERS, "run --quiet --bin seeds -- onnx"),
    ("tensorflow", READERS, "run --quiet --bin seeds -- tensorflow"),
    ("tflite", READERS, "run --quiet --bin seeds -- tflite"),
    ("torch", READERS, "run --quiet --bin seeds -- torch"),
];
const READERS: &str = "tests/fuzz/readers";
const NUMBERS: &str = "run --quiet --release --bin corpus -- numbers";
/// The longest file of a reader in bytes, and the largest allocation in mebibytes.
const OF_READERS: [&str; 2] = ["-max_len=4096", "-malloc_limit_mb=64"];
/// Seconds for the build, which takes minutes with a sanitizer.
const BUILD: u64 = 30 * 60;
/// With `-fork`, libFuzzer continues after an input that takes too long or too much memory, unless told.
const FINDINGS: [&str; 3] = ["-ignore_timeouts=0", "-ignore_ooms=0", "-timeout=20"];

pub fn run(words: &[&str]) -> Result<(), String> {
    let (name, rest) = match words {
        [name, rest @ ..] if name.parse::<u64>().is_err() => (*name, rest),
        rest => ("header", rest),
    };
    let seconds = match rest {
        [] => Some(60),
        [seconds] => seconds.parse().ok(),
        _ => None,
    };
    let fuzzer = FUZZERS.iter().find(|fuzzer| fuzzer.0 == name);
    let unexpected = || format!("{}unexpected arguments \"{}\"", crate::commands::USAGE, words.join(" "));
    let seconds = seconds.filter(|seconds| *seconds > 0).ok_or_else(unexpected)?;
    let (name, package, corpus) = fuzzer.ok_or_else(unexpected)?;
    Need::Rust("nightly").set_up()?;
    fuzz(name, package, corpus, seconds)
}

fn fuzz(name: &str, package: &str, seeds: &str, seconds: u64) -> Result<(), String> {
    Need::CargoProgram("cargo-fuzz", "cargo-fuzz").set_up()?;
    let own = workspace::target_dir().join("fuzz").join(name);
    let (corpus, root) = (own.join("corpus"), workspace::root().join(package));
    own_cargo().dir(&root).words(seeds).args([&corpus]).check()?;
    if name == "torch" {
        let seeds = Run::new(python::environment("torch")?).args(["-B"]);
        seeds.args([&root.join("torch.py"), &corpus]).check()?;
    }
    let words = root.join(name).with_extension("dict");
    let dictionary = words.exists().then(|| format!("-dict={}", words.display()));
    let build = workspace::target_dir().join("fuzz/build");
    let run = Run::new("cargo").words("+nightly fuzz run --release --fuzz-dir").args([package]);
    let run = run.args(["--target-dir".as_ref(), build.as_path(), name.as_ref(), &corpus, "--".as_ref()]);
    let run = run.args(options(&own, seconds)?);
    let run = if package == READERS { run.args(OF_READERS) } else { run };
    // Files in memory are made and removed faster.
    let run = if Path::new("/dev/shm").is_dir() { run.env("TMPDIR", "/dev/shm") } else { run };
    run.args(dictionary).limit(seconds + BUILD).check()
}

/// Returns the options of a fuzzer that keeps its findings below a directory.
fn options(directory: &Path, seconds: u64) -> Result<Vec<String>, String> {
    let findings = directory.join("findings");
    let note = "Each file is an input that a run of `cargo xtask fuzz` failed with, or was slow with.\n";
    workspace::write(&findings.join("README"), note.as_bytes())?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let options = [
        format!("-max_total_time={seconds}"),
        format!("-fork={workers}"),
        format!("-artifact_prefix={}/", findings.display()),
    ];
    Ok(options.into_iter().chain(FINDINGS.map(str::to_owned)).collect())
}
