//! The fuzzer of the C API: `crates/safetensors-c/fuzz/api.c` with the library, under the sanitizers of
//! addresses and of undefined behaviour.
//!
//! The library and `core` are compiled by a nightly compiler with every check and with the counters of
//! libFuzzer. A panic is a finding, too.

use super::{BUILD, directory, options};
use crate::process::Run;
use crate::{c, machine, workspace};
use std::path::{Path, PathBuf};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// AddressSanitizer, with assertions and overflow checks, also those of `core`, in place of the sanitizer of
/// undefined behaviour, which rustc does not have; and what cargo-fuzz passes for libFuzzer.
const CHECKS: &str = "-Zsanitizer=address -Zexternal-clangrt -Cdebug-assertions -Coverflow-checks -Zub-checks -Cforce-frame-pointers \
    -Ccodegen-units=1 -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-simplifycfg-branch-fold-threshold=0";

/// The profile for libraries that are linked into firmware is small; this is fast, and its stacks have lines.
const PROFILE: [&str; 3] = [
    "profile.release.lto=false",
    "profile.release.opt-level=2",
    "profile.release.debug=\"line-tables-only\"",
];

/// The longest input of a fuzzer, in bytes.
const LONGEST: usize = 2048;

/// Runs the fuzzer for `seconds`.
pub fn fuzz(seconds: u64) -> Result<(), String> {
    need_sources()?;
    let directory = directory("fuzz-c");
    need_clang(&directory)?;
    let (corpus, seeds) = (directory.join("corpus"), directory.join("seeds"));
    workspace::write(&corpus.join("empty"), b"")?;
    write_seeds(&seeds)?;
    let program = build(&directory)?;
    let options = options(&directory, "a plan of calls", seconds)?;
    // Stacks that are gone are found, too.
    Run::new(program)
        .env("ASAN_OPTIONS", "detect_stack_use_after_return=1")
        .env("UBSAN_OPTIONS", "print_stacktrace=1")
        .args(options)
        .args([format!("-max_len={LONGEST}"), "-print_funcs=0".to_owned()])
        .args([&corpus, &seeds])
        .limit(seconds + BUILD)
        .check()
}

/// Ensures that the nightly compiler can build `core`.
fn need_sources() -> Result<(), String> {
    let sysroot = Run::new("rustc").args(["+nightly", "--print", "sysroot"]).capture()?;
    let sysroot = String::from_utf8_lossy(&sysroot.stdout).trim().to_owned();
    if Path::new(&sysroot).join("lib/rustlib/src/rust/library/Cargo.lock").exists() {
        return Ok(());
    }
    let advice = "run `rustup component add rust-src --toolchain nightly`";
    machine::install("the sources of the Rust toolchain nightly", Some(advice), || {
        Run::new("rustup").args(["component", "add", "rust-src", "--toolchain", "nightly"]).check()
    })
}

fn need_clang(directory: &Path) -> Result<(), String> {
    let probe = directory.join("probe.c");
    let text = "int LLVMFuzzerTestOneInput(const char *, unsigned long);\n\
        int LLVMFuzzerTestOneInput(const char *data, unsigned long len) { return len > 9 && !data; }\n";
    workspace::write(&probe, text.as_bytes())?;
    let links = || clang(&directory.join("probe"), &[&probe]).capture().is_ok();
    let present = || machine::find("clang").is_some() && links();
    machine::need("clang with its sanitizers", &["clang", "libclang-rt-dev", "lld"], present)
}

/// Returns the compiler of C with its sanitizers.
fn clang(program: &Path, files: &[&Path]) -> Run {
    Run::new("clang")
        .args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-O1", "-fuse-ld=lld"])
        .args(["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"])
        .args(["-fno-omit-frame-pointer"])
        .args(["-I".into(), c::directory().join("include")])
        .args(files)
        .args(["-o".as_ref(), program])
}

/// Builds the library and the program, and returns the program.
fn build(directory: &Path) -> Result<PathBuf, String> {
    let target = directory.join("build");
    let profile = PROFILE.iter().flat_map(|setting| ["--config", *setting]);
    // With no-panic, a panic calls a function of the program.
    Run::new("cargo")
        .dir(&c::directory())
        .args(["+nightly", "build", "--release", "--locked", "--quiet", "--features", "no-panic"])
        .args(["-Zbuild-std=core", "--target", TARGET])
        .args(profile)
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", CHECKS)
        .check()?;
    let library = target.join(TARGET).join("release/libsafetensors.a");
    let (source, program) = (c::directory().join("fuzz/api.c"), target.join("api"));
    clang(&program, &[&source, &library]).check()?;
    Ok(program)
}

/// Writes files of the repository, each after a plan of its own, as the initial corpus.
fn write_seeds(directory: &Path) -> Result<(), String> {
    let root = workspace::root();
    let verdicts = ["valid", "invalid", "either"].map(|verdict| root.join("tests/vectors").join(verdict));
    let mut files = vec![root.join("firmware/minimal/model.safetensors")];
    for verdict in verdicts {
        files.extend(workspace::list(&verdict)?);
    }
    for (number, path) in (0..).zip(files) {
        let seed = [plan(number), workspace::read(&path)?].concat();
        if seed.len() <= LONGEST {
            workspace::write(&directory.join(number.to_string()), &seed)?;
        }
    }
    Ok(())
}

/// How many words of four bytes a seed's plan has.
const WORDS: u8 = 24;

/// Returns the plan of a seed with its length: the file is as given, and then there are any calls.
fn plan(number: u32) -> Vec<u8> {
    let mut state = number;
    let calls = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Higher numbers are for what is seldom.
        state.to_be_bytes()[0] % 0xE0
    });
    [WORDS, 0, 0, 0].into_iter().chain(calls).take(1 + 4 * usize::from(WORDS)).collect()
}
