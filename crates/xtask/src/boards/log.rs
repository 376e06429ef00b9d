//! Binary logs: defmt sends numbers, and the program's ELF file has their texts.

use super::Board;
use crate::elf::Elf;
use crate::toolchain::{Toolchain, own_cargo};
use crate::workspace;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The feature of programs that log with defmt.
pub const FEATURE: &str = "log";

/// The section with the texts of the log.
pub const SECTION: &str = ".defmt";

/// A word in the names of all crates and symbols of the log.
const CRATE: &str = "defmt";

/// Builds the program that runs an emulator and decodes the log of the program in it.
pub fn decoder() -> Result<PathBuf, String> {
    static DECODER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let build = || {
        let target = workspace::target_dir().join("firmware/decoder");
        let build = own_cargo().dir(&workspace::root().join("firmware/decoder"));
        build.env("CARGO_TARGET_DIR", &target).args(["build", "--locked", "--quiet"]).capture()?;
        Ok(target.join("debug").join("decoder").with_extension(std::env::consts::EXE_EXTENSION))
    };
    DECODER.get_or_init(build).clone()
}

/// Checks that a program has logged the same lines that it printed.
pub fn check_same_as_printed(lines: &[String]) -> Result<(), String> {
    let of = |beginning| lines.iter().filter_map(move |line| line.strip_prefix(beginning));
    let (printed, logged) = (of("printed: ").count(), of("logged: ").count());
    if printed == 0 || printed != logged {
        return Err(format!("{printed} sentences printed, {logged} logged"));
    }
    match of("printed: ").zip(of("logged: ")).find(|(printed, logged)| printed != logged) {
        None => Ok(()),
        Some((printed, logged)) => {
            Err(format!("a sentence differs\n        printed: {printed}\n        logged:  {logged}"))
        }
    }
}

/// Checks that a program without the log feature has nothing of the log: it is byte for byte the program
/// built from a source without the logging statements.
pub fn check_absent(board: &'static Board, program: &str) -> Result<(), String> {
    let elf = Elf::open(&board.program(program)?)?;
    elf.lacks(&[CRATE])?;
    if elf.size_of(&[SECTION]) > 0 {
        return Err("the program contains texts of the log".to_owned());
    }
    let tree = Toolchain::for_target(board.triple())?.cargo("tree").dir(&board.folder());
    let tree = tree.args(["--locked", "--edges", "normal,build", "--prefix", "none", "--format", "{lib}"]);
    if String::from_utf8_lossy(&tree.capture()?.stdout).contains(CRATE) {
        return Err(format!("{CRATE} is among its dependencies"));
    }
    // The path of a source influences the order of linking, so both copies are built at the same path.
    let (copy, removed) = (workspace::target_dir().join("firmware/log"), Cell::new(0));
    let own = format!("firmware/{}", board.name);
    let crates = ["crates/embedded-safetensors", "crates/embedded-safetensors-macros"];
    for path in crates.into_iter().chain(["Cargo.toml", "firmware/board", "firmware/app", &own]) {
        // Files from an earlier run must not be built.
        let _ = std::fs::remove_dir_all(copy.join(path));
        copy_all(&workspace::root().join(path), &copy.join(path), &with_any_lints)?;
    }
    let with = build_copy(board, program, &copy)?;
    let leave_out = |path: &Path, bytes| without_log(path, with_any_lints(path, bytes), &removed);
    copy_all(&workspace::root().join("firmware/app"), &copy.join("firmware/app"), &leave_out)?;
    let without = build_copy(board, program, &copy)?;
    match (removed.get(), with.len(), without.len()) {
        (0, ..) => Err("the source has no logging statements to remove".to_owned()),
        _ if with == without => Ok(()),
        (_, with, without) => {
            Err(format!("it has {with} bytes, but {without} when built without the logging statements"))
        }
    }
}

fn build_copy(board: &'static Board, program: &str, copy: &Path) -> Result<Vec<u8>, String> {
    let (folder, target) = (copy.join("firmware").join(&board.name), copy.join("target"));
    let build = Toolchain::for_target(board.triple())?.cargo("build").dir(&folder);
    build.env("CARGO_TARGET_DIR", &target).args(["--release", "--locked", "--bin", program]).capture()?;
    workspace::read(&target.join(board.triple()).join("release").join(program))
}

/// Copies a file, or a directory without its build output, and changes each file with `change`.
fn copy_all(from: &Path, to: &Path, change: &dyn Fn(&Path, Vec<u8>) -> Vec<u8>) -> Result<(), String> {
    if !from.is_dir() {
        return workspace::write(to, &change(from, workspace::read(from)?));
    }
    for path in workspace::list(from)? {
        let name = path.file_name().unwrap_or_default();
        if name != "target" {
            copy_all(&path, &to.join(name), change)?;
        }
    }
    Ok(())
}

/// Turns denied lints into allowed ones: without the logging statements, the log's macros are unused.
fn with_any_lints(path: &Path, bytes: Vec<u8>) -> Vec<u8> {
    match path.extension().is_some_and(|extension| extension == "toml") {
        true => String::from_utf8_lossy(&bytes).replace("\"deny\"", "\"allow\"").into_bytes(),
        false => bytes,
    }
}

/// Removes the logging statements from a source and counts them.
fn without_log(path: &Path, bytes: Vec<u8>, removed: &Cell<usize>) -> Vec<u8> {
    if path.extension().is_none_or(|extension| extension != "rs") {
        return bytes;
    }
    let (mut left, mut is_inside) = (String::new(), false);
    for line in String::from_utf8_lossy(&bytes).split_inclusive('\n') {
        let begins = ["debug!(", "trace!("].iter().any(|name| line.trim_start().starts_with(name));
        removed.set(removed.get() + usize::from(begins));
        is_inside |= begins;
        // An empty line keeps the line numbers of what follows.
        left.push_str(if is_inside { "\n" } else { line });
        is_inside &= !line.trim_end().ends_with(");");
    }
    left.into_bytes()
}
