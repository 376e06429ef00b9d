//! The copy of the repository whose core has switches.

use crate::change::{Change, Found, with_switches};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The sources of the core.
pub const CORE: &str = "crates/embedded-safetensors/src/";
/// Functions that only const evaluation calls.
const ONLY_IN_CONSTS: &str = include_str!("only-in-consts.txt");
/// The tests that decide: the suite with models in files, and the unit tests of the core.
const TESTS: &str = "test --no-run -p verification --test suite --features std -p embedded-safetensors --lib";

pub struct Tree {
    pub root: PathBuf,
    /// The files of the core.
    files: BTreeMap<String, String>,
    pub changes: Vec<Change>,
    pub programs: Vec<PathBuf>,
}

impl Tree {
    /// Copies what git tracks. Unchanged files keep their times, so that cargo builds little.
    pub fn copy() -> Self {
        let from = repository();
        let root = from.join("target/mutants/tree");
        let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(&from).output().expect("git");
        let names = String::from_utf8(listed.stdout).expect("names are texts");
        let (mut files, mut changes) = (BTreeMap::new(), vec![]);
        for name in names.split_terminator('\0') {
            let Ok(bytes) = fs::read(from.join(name)) else { continue };
            match name.strip_prefix(CORE) {
                Some(path) => {
                    let text = String::from_utf8(bytes).expect("sources are texts");
                    changes.extend(Found::of(&text, path, &only_in_consts(path)).changes);
                    files.insert(path.to_owned(), text);
                }
                None => write(&root.join(name), &bytes),
            }
        }
        Self { root, files, changes, programs: vec![] }
    }

    /// Builds the tests. Changes that do not compile are removed.
    pub fn build(&mut self) {
        loop {
            self.write_core();
            let output = self.cargo(TESTS).args(["--message-format", "short"]).output().expect("cargo");
            let said = String::from_utf8_lossy(&output.stderr);
            if output.status.success() {
                self.programs = executables(&output.stderr, &self.root);
                return;
            }
            let mut wrong: Vec<usize> = said.lines().filter_map(|line| self.of_error(line)).collect();
            wrong.sort_unstable();
            wrong.dedup();
            assert!(!wrong.is_empty(), "no change explains these errors:\n{said}");
            eprintln!("{} changes do not compile", wrong.len());
            wrong.iter().rev().for_each(|&number| drop(self.changes.remove(number)));
        }
    }

    pub fn cargo(&self, words: &str) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.arg("+nightly").args(words.split(' ')).current_dir(&self.root).stdin(Stdio::null());
        cargo.env("RUSTFLAGS", "--cap-lints=allow").env("CARGO_TARGET_DIR", self.root.join("../build"));
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0");
        cargo
    }

    fn write_core(&self) {
        for (path, text) in &self.files {
            let changes = self.changes.iter().enumerate().filter(|(_, change)| change.path == *path);
            let mut text = with_switches(text, changes);
            if path == "lib.rs" {
                let features =
                    "#![feature(core_intrinsics, const_eval_select)] #![allow(internal_features)] #![no_std]";
                text = text.replacen("#![no_std]", features, 1) + "mod mutant;\n";
            }
            write(&self.root.join(CORE).join(path), text.as_bytes());
        }
        write(&self.root.join(CORE).join("mutant.rs"), include_bytes!("switch.rs"));
    }

    /// Returns the number of the switch at an error, or before it, in `PATH:LINE:COLUMN: error…`.
    fn of_error(&self, line: &str) -> Option<usize> {
        let (place, _) = line.split_once(": error")?;
        let mut words = place.rsplitn(3, ':');
        let column: usize = words.next()?.parse().ok()?;
        let row: usize = words.next()?.parse().ok()?;
        let text = fs::read_to_string(self.root.join(words.next()?)).ok()?;
        let line = text.lines().nth(row - 1)?;
        let start = line.char_indices().nth(column - 1)?.0;
        const SWITCH: &str = "if crate::mutant::on(";
        let after = match line[start..].trim_start_matches('(').strip_prefix(SWITCH) {
            Some(after) => after,
            None => &line[line[..start].rfind(SWITCH)? + SWITCH.len()..],
        };
        after.split_once(')')?.0.parse().ok()
    }
}

/// Returns the root of the repository.
pub fn repository() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("a path")
}

/// Returns the programs that `cargo test --no-run` names.
pub fn executables(said: &[u8], directory: &Path) -> Vec<PathBuf> {
    let said = String::from_utf8_lossy(said);
    let named = said.lines().filter_map(|line| line.trim().strip_prefix("Executable")?.strip_suffix(')'));
    named.filter_map(|line| Some(directory.join(line.rsplit_once('(')?.1))).collect()
}

/// Returns the names of the functions in a file of the core that only const evaluation calls.
pub fn only_in_consts(path: &str) -> Vec<&'static str> {
    let of_file = |line: &'static str| line.split_once(';')?.0.strip_prefix(path)?.strip_prefix(": ");
    ONLY_IN_CONSTS.lines().filter_map(of_file).flat_map(|names| names.split(", ")).collect()
}

fn write(path: &Path, bytes: &[u8]) {
    if fs::read(path).is_ok_and(|present| present == bytes) {
        return;
    }
    fs::create_dir_all(path.parent().expect("a directory")).expect("created");
    fs::write(path, bytes).expect("written");
}
