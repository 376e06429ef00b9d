//! `cargo xtask fuzz [TARGET] [SECONDS]`: runs fuzzed headers through every API and compares with the
//! reference; or fuzzed files through the reader of another format. `cargo xtask fuzz --c [SECONDS]`: runs
//! fuzzed calls of the C API, `crates/safetensors-c/fuzz/api.c`, under the sanitizers of addresses and of
//! undefined behaviour.

use super::Command;
use crate::process::Run;
use crate::toolchain::{need_cargo_program, need_rust, own_cargo};
use crate::{c, machine, python, workspace};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "fuzz",
    about: "compare all APIs and the reference on fuzzed headers (TARGET: gguf, numpy, tensorflow or torch, to \
        fuzz that reader instead; SECONDS: how long; 60 by default; --c: fuzz the C API instead)",
    run,
};

/// The targets of cargo-fuzz: the name, the package, and the program that writes the initial corpus.
const TARGETS: [(&str, &str, &str); 5] = [
    ("header", "tests/fuzz", "--release --bin corpus"),
    ("gguf", READERS, "--bin seeds gguf"),
    ("numpy", READERS, "--bin seeds numpy"),
    ("tensorflow", READERS, "--bin seeds tensorflow"),
    ("torch", READERS, "--bin seeds torch"),
];
const READERS: &str = "tests/fuzz/readers";
/// The longest file of a reader in bytes, and the largest allocation in mebibytes.
const OF_READERS: [&str; 2] = ["-max_len=4096", "-malloc_limit_mb=64"];

const C: &str = "--c";
const DEFAULT: u64 = 60;
/// Seconds for the build, which takes minutes with a sanitizer.
const BUILD: u64 = 30 * 60;
/// With `-fork`, libFuzzer continues after an input that takes too long or too much memory, unless told.
const FINDINGS: [&str; 3] = ["-ignore_timeouts=0", "-ignore_ooms=0", "-timeout=20"];

fn run(words: &[String]) -> Result<ExitCode, String> {
    let find = |word: &str| TARGETS.iter().find(|(name, ..)| *name == word);
    let (target, seconds) = match words {
        [word, rest @ ..] if word == C => (None, rest),
        [word, rest @ ..] if find(word).is_some() => (find(word), rest),
        rest => (Some(&TARGETS[0]), rest),
    };
    let names = TARGETS.map(|(name, ..)| name).join("|");
    let usage = |word| format!("what is \"{word}\"? usage: cargo xtask fuzz [{names}|{C}] [SECONDS]");
    let seconds = match seconds {
        [] => DEFAULT,
        [seconds] => seconds.parse().map_err(|_| usage(seconds))?,
        [_, word, ..] => return Err(usage(word)),
    };
    need_rust("nightly", "which has sanitizers")?;
    target.map_or_else(|| fuzz_c(seconds), |target| fuzz(target, seconds)).map(|()| ExitCode::SUCCESS)
}

fn fuzz((name, package, seeds): &(&str, &str, &str), seconds: u64) -> Result<(), String> {
    need_cargo_program("cargo-fuzz", "cargo-fuzz")?;
    let (own, folder) = (directory("fuzz").join(name), workspace::root().join(package));
    let (corpus, script) = (own.join("corpus"), folder.join(name).with_extension("py"));
    let seeds = own_cargo().dir(&folder).args(["run", "--quiet"]).args(seeds.split(' '));
    seeds.args([&corpus]).check()?;
    if script.exists() {
        Run::new(python::debian_with_torch()?).args(["-B"]).args([&script, &corpus]).check()?;
    }
    let words = folder.join(name).with_extension("dict");
    let dictionary = words.exists().then(|| format!("-dict={}", words.display()));
    let run = Run::new("cargo").args(["+nightly", "fuzz", "run", "--release", "--fuzz-dir", package]);
    let run = run.args(["--target-dir".as_ref(), directory("fuzz").join("build").as_path()]);
    let run = run.args([name]).args([corpus]).args(["--"]).args(options(&own, seconds)?);
    let run = if *package == READERS { run.args(OF_READERS) } else { run };
    // Files in memory are made and removed faster.
    let memory = Path::new("/dev/shm");
    let run = if memory.is_dir() { run.env("TMPDIR", memory) } else { run };
    run.args(dictionary).limit(seconds + BUILD).check()
}

/// Returns the options of a fuzzer that keeps its findings below this directory.
fn options(directory: &Path, seconds: u64) -> Result<Vec<String>, String> {
    let findings = directory.join("findings");
    workspace::write(&findings.join("README"), b"Inputs that a run of `cargo xtask fuzz` failed with.\n")?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let time = [format!("-max_total_time={seconds}"), format!("-fork={workers}")];
    let place = format!("-artifact_prefix={}/", findings.display());
    Ok(time.into_iter().chain([place]).chain(FINDINGS.map(str::to_owned)).collect())
}

/// Returns a directory for what a fuzzer builds, its corpus and its findings, which are kept for later runs.
fn directory(name: &str) -> PathBuf {
    workspace::target_dir().join(name)
}

const LINUX: &str = "x86_64-unknown-linux-gnu";

/// AddressSanitizer, with assertions and overflow checks, also those of `core`, in place of the sanitizer of
/// undefined behaviour, which rustc does not have; and what cargo-fuzz passes for libFuzzer.
const CHECKS: &str = "-Zsanitizer=address -Zexternal-clangrt -Cdebug-assertions -Coverflow-checks -Zub-checks \
    -Cforce-frame-pointers -Ccodegen-units=1 -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-simplifycfg-branch-fold-threshold=0";

/// The library's own profile is small; this one is fast, and its stacks have lines. With `no-panic`, a
/// panic calls a function of the program.
const LIBRARY: &str = "+nightly build --release --locked --quiet --features no-panic -Zbuild-std=core \
    --config profile.release.lto=false --config profile.release.opt-level=2 \
    --config profile.release.debug=\"line-tables-only\" --target";

const CLANG: &str = "-std=c99 -Wall -Wextra -Wpedantic -Werror -g -O1 -fuse-ld=lld -fno-omit-frame-pointer \
    -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all";

/// The longest input of the fuzzer of the C API, in bytes.
const LONGEST: usize = 2048;

fn fuzz_c(seconds: u64) -> Result<(), String> {
    let own = directory("fuzz-c");
    let [corpus, seeds, build] = ["corpus", "seeds", "build"].map(|name| own.join(name));
    machine::need("clang with its sanitizers", &["clang", "libclang-rt-dev", "lld"], || {
        machine::find("clang").is_some() && machine::find("ld.lld").is_some()
    })?;
    workspace::write(&corpus.join("empty"), b"")?;
    write_seeds(&seeds)?;
    Run::new("cargo")
        .dir(&c::directory())
        .args(LIBRARY.split_whitespace().chain([LINUX]))
        .env("CARGO_TARGET_DIR", &build)
        .env("RUSTFLAGS", CHECKS)
        .check()?;
    let program = build.join("api");
    Run::new("clang")
        .args(CLANG.split_whitespace())
        .args(["-I".into(), c::directory().join("include"), c::directory().join("fuzz/api.c")])
        .args([build.join(LINUX).join("release/libsafetensors.a"), "-o".into(), program.clone()])
        .check()?;
    // Stacks that are gone are found, too.
    Run::new(program)
        .env("ASAN_OPTIONS", "detect_stack_use_after_return=1")
        .env("UBSAN_OPTIONS", "print_stacktrace=1")
        .args(options(&own, seconds)?)
        .args([format!("-max_len={LONGEST}"), "-print_funcs=0".to_owned()])
        .args([&corpus, &seeds])
        .limit(seconds + BUILD)
        .check()
}

/// Writes files of the repository, each after a plan of its own with its length, as the initial corpus.
fn write_seeds(directory: &Path) -> Result<(), String> {
    const WORDS: u8 = 24;
    let vectors = workspace::root().join("tests/vectors");
    let mut files = vec![workspace::root().join("firmware/minimal/model.safetensors")];
    for verdict in ["valid", "invalid", "either"] {
        files.extend(workspace::list(&vectors.join(verdict))?);
    }
    for (number, path) in (0_u32..).zip(files) {
        let mut state = number;
        // The file is as given, and then there are any calls. Higher numbers are for what is seldom.
        let calls = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0] % 0xE0
        });
        let plan = [WORDS, 0, 0, 0].into_iter().chain(calls).take(1 + 4 * usize::from(WORDS));
        let seed: Vec<u8> = plan.chain(workspace::read(&path)?).collect();
        if seed.len() <= LONGEST {
            workspace::write(&directory.join(number.to_string()), &seed)?;
        }
    }
    Ok(())
}
