//! The copy of the repository whose core has switches.

use crate::change::{Change, Switches};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The sources of the core.
pub const CORE: &str = "crates/embedded-safetensors/src/";
/// Functions that only const evaluation calls.
const ONLY_IN_CONSTS: &str = include_str!("only-in-consts.txt");
/// Begins and ends the root of the core.
const ROOT: [&str; 2] =
    ["#![feature(core_intrinsics, const_eval_select)] #![allow(internal_features)]", "mod mutant;"];
/// Copies what git tracks. Unchanged files keep their times, so that cargo builds little.
const COPY: &str = "mkdir -p target/mutants/tree
    git ls-files -z | xargs -0 cp --update --preserve=timestamps --parents -t target/mutants/tree";
/// The tests that decide: the unit tests of the core, and the suite with models in files.
const TESTS: &str = "test --no-run -p embedded-safetensors --lib -p verification \
    --test suite --features std";

/// Makes switches for the chosen changes and builds the tests. Returns the changes and the programs.
pub fn build(is_chosen: &dyn Fn(&Change) -> bool) -> (Vec<Change>, Vec<PathBuf>) {
    assert!(Command::new("sh").args(["-ec", COPY]).status().expect("sh").success());
    let root = Path::new("target/mutants/tree");
    let changes = write_core(&root.join(CORE), is_chosen);
    assert!(!changes.is_empty(), "the core has no such directory or file");
    let mut cargo = Command::new("cargo");
    cargo.arg("+nightly").args(TESTS.split(' ')).current_dir(root).stdin(Stdio::null());
    cargo.env("RUSTFLAGS", "--cap-lints=allow -C debuginfo=0").env("CARGO_TARGET_DIR", "../build");
    cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    let output = cargo.output().expect("cargo");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "a change does not compile:\n{said}");
    let named = said.lines().filter_map(|line| line.trim().strip_prefix("Executable")?.strip_suffix(')'));
    let programs = named.filter_map(|line| Some(root.join(line.rsplit_once('(')?.1)));
    (changes, programs.collect())
}

/// Writes the sources of the core with switches.
fn write_core(to: &Path, is_chosen: &dyn Fn(&Change) -> bool) -> Vec<Change> {
    let listed = Command::new("git").args(["ls-files"]).current_dir(CORE).output().expect("git");
    let listed = String::from_utf8(listed.stdout).expect("names are texts");
    let mut changes = vec![];
    for path in listed.lines().filter(|path| path.ends_with(".rs") && !is_test(path)) {
        let text = fs::read_to_string(Path::new(CORE).join(path)).expect("a source");
        let mut file = syn::parse_file(&text).expect("the library compiles");
        let skipped = only_in_consts(path);
        let mut switches = Switches { path, skipped, is_chosen, changes: &mut changes };
        syn::visit_mut::visit_file_mut(&mut switches, &mut file);
        let [head, end] = if path == "lib.rs" { ROOT } else { [""; 2] };
        fs::write(to.join(path), format!("{head}{}{end}", quote::quote!(#file))).expect("written");
    }
    fs::write(to.join("mutant.rs"), include_str!("switch.rs")).expect("written");
    changes
}

/// Whether a source is compiled only for tests.
pub fn is_test(path: &str) -> bool {
    const NAMES: [&str; 5] = ["tests", "proof", "made", "samples", "simulated"];
    path.split(['/', '.']).any(|part| NAMES.contains(&part))
}

/// Returns the names of the functions in a file of the core that only const evaluation calls.
pub fn only_in_consts(path: &str) -> Vec<&'static str> {
    let of_file = |line: &'static str| line.split_once(';')?.0.strip_prefix(path)?.strip_prefix(": ");
    ONLY_IN_CONSTS.lines().filter_map(of_file).flat_map(|names| names.split(", ")).collect()
}
