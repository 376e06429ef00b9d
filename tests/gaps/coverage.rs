//! Lists the lines that no test runs.

use crate::change::Found;
use crate::tree::{CORE, executables, only_in_consts, repository};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The directories of sources whose lines are counted.
const ROOMS: [&str; 6] = [
    CORE,
    "crates/safetensors-quant/src/",
    "crates/safetensors-files/src/",
    "crates/safetensors-convert/src/",
    "crates/safetensors-remote/src/",
    "crates/safetensors-c/src/",
];

/// The tests: the suite as firmware builds the core, with the C API, and with `std`; those of the packages.
const TESTS: [&str; 3] = [
    "-p verification --test suite --test c",
    "-p verification --test suite --features std",
    "-p embedded-safetensors -p safetensors-quant -p safetensors-files -p safetensors-convert \
     -p safetensors-remote --lib --tests --features embedded-safetensors/defmt,safetensors-remote/async",
];

/// For each file, for each line that can run, whether it has run.
type Lines = BTreeMap<String, BTreeMap<usize, bool>>;

/// Runs all tests and prints what they miss.
pub fn run() {
    let target = repository().join("target/coverage");
    let _ = fs::remove_dir_all(target.join("profiles"));
    let mut objects = BTreeSet::new();
    for words in TESTS {
        let list = cargo(&target, words).args(["--no-run"]).output().expect("cargo");
        assert!(list.status.success(), "{}", String::from_utf8_lossy(&list.stderr));
        objects.extend(executables(&list.stderr, &repository()));
        if !cargo(&target, words).args(["--quiet", "--no-fail-fast"]).status().expect("cargo").success() {
            eprintln!("tests fail: some compare the output of programs that cannot write their profile");
        }
    }
    report(&lines(&target, &objects));
}

fn cargo(target: &Path, words: &str) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(["+nightly", "test"]).args(words.split_whitespace()).current_dir(repository());
    cargo.env("RUSTFLAGS", "-C instrument-coverage --cap-lints=warn").env("CARGO_TARGET_DIR", target);
    cargo.env("LLVM_PROFILE_FILE", target.join("profiles/%8m.profraw")).env("SUITE_SHARE", "8");
    cargo.stdin(Stdio::null());
    cargo
}

/// Returns the path of a program of LLVM that fits the compiler.
fn llvm(name: &str) -> Command {
    let root = Command::new("rustc").args(["+nightly", "--print", "target-libdir"]).output().expect("rustc");
    let libraries = PathBuf::from(String::from_utf8_lossy(&root.stdout).trim_end());
    Command::new(libraries.with_file_name("bin").join(name))
}

fn lines(target: &Path, objects: &BTreeSet<PathBuf>) -> Lines {
    let profiles =
        fs::read_dir(target.join("profiles")).expect("profiles").flatten().map(|entry| entry.path());
    let merged = target.join("merged.profdata");
    let merge = llvm("llvm-profdata").args(["merge", "--sparse", "-o"]).arg(&merged).args(profiles).status();
    assert!(merge.expect("llvm-profdata").success());
    let mut export = llvm("llvm-cov");
    export.args(["export", "--format=lcov", "--instr-profile"]).arg(&merged);
    export.args(objects.iter().map(|object| format!("--object={}", object.display())));
    let output = export.output().expect("llvm-cov");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    read(&String::from_utf8_lossy(&output.stdout))
}

/// Reads `SF:PATH` and `DA:LINE,COUNT`.
fn read(text: &str) -> Lines {
    let (mut lines, mut file) = (Lines::new(), None);
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            let path = path.strip_prefix(&format!("{}/", repository().display())).unwrap_or_default();
            file = ROOMS.iter().any(|room| path.starts_with(room)).then(|| path.to_owned());
        } else if let (Some(file), Some((number, count))) =
            (&file, line.strip_prefix("DA:").and_then(|line| line.split_once(',')))
        {
            let runs =
                lines.entry(file.clone()).or_default().entry(number.parse().expect("a number")).or_default();
            *runs |= count != "0";
        }
    }
    for (path, lines) in &mut lines {
        let text = fs::read_to_string(repository().join(path)).expect("a source");
        let core = path.strip_prefix(CORE).unwrap_or_default();
        let names = only_in_consts(core);
        let found = Found::of(&text, core, &names);
        for (name, range) in found.in_consts {
            let has_run = range.filter_map(|line| lines.remove(&line)).any(|runs| runs);
            assert!(!has_run, "{path}: a test runs {name}, so it is not only for const evaluation");
        }
        lines.retain(|line, _| !found.tests.iter().any(|test| test.contains(line)));
    }
    lines.retain(|_, lines| !lines.is_empty());
    lines
}

fn report(lines: &Lines) {
    let mut directories: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (path, lines) in lines {
        let missed: Vec<usize> = lines.iter().filter(|(_, runs)| !**runs).map(|(line, _)| *line).collect();
        if let Some(core) = path.strip_prefix(CORE).filter(|_| !missed.is_empty()) {
            println!("{core}: {missed:?}");
        }
        let room = ROOMS.iter().find(|room| path.starts_with(**room)).expect("only these");
        let inside = path[room.len()..].split_once('/').map_or(0, |(directory, _)| directory.len());
        let ends = BTreeSet::from([room.len(), room.len() + inside]);
        for sum in ends.iter().map(|&end| &path[..end]) {
            let sum = directories.entry(sum).or_default();
            *sum = [sum[0] + lines.len(), sum[1] + missed.len()];
        }
    }
    for (directory, [lines, missed]) in directories {
        let percent = 100.0 * (lines - missed) as f64 / lines as f64;
        println!("{directory:48}{lines:7} lines{missed:6} missed{percent:8.2} %");
    }
}
