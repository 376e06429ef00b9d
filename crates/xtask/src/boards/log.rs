//! Logs that are no text: defmt sends numbers, and a program's file has what they stand for.

use super::Board;
use crate::elf::Elf;
use crate::toolchain::{Toolchain, own_cargo};
use crate::workspace;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The feature of programs that log so.
pub const FEATURE: &str = "log";

/// What logs is made of, by a word that is in the names of crates and symbols.
const CRATE: &str = "defmt";

/// The program that runs an emulator and says what a program in it logs.
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

/// A program that does not log has nothing of the log: it is the very one whose source has no line about it.
pub fn is_absent(board: &Board, program: &str) -> Result<(), String> {
    let elf = Elf::open(&board.program(program)?)?;
    elf.lacks(&[CRATE])?;
    if elf.size_of(&[".defmt"]) > 0 {
        return Err("the program has texts of a log".to_owned());
    }
    let tree = Toolchain::for_target(board.triple())?.cargo("tree").dir(&board.folder());
    let tree = tree.args(["--locked", "--edges", "normal,build", "--prefix", "none", "--format", "{lib}"]);
    if String::from_utf8_lossy(&tree.capture()?.stdout).contains(CRATE) {
        return Err(format!("{CRATE} is among the crates that it is built of"));
    }
    // Where a source lies has its part in the order of what is linked, so both lie in the same place.
    let [with, without] = [true, false].map(|with_lines| build_copy(board, program, with_lines));
    match (with?, without?) {
        (with, without) if with == without => Ok(()),
        (with, without) => Err(format!(
            "it has {} bytes, and {} from a source without the lines of the log",
            with.len(),
            without.len()
        )),
    }
}

/// What a program has printed, line by line, is what it has logged.
pub fn is_as_printed(lines: &[String]) -> Result<(), String> {
    let of =
        |beginning| lines.iter().filter_map(move |line| line.strip_prefix(beginning)).collect::<Vec<_>>();
    let (printed, logged) = (of("printed: "), of("logged: "));
    if printed.is_empty() || printed.len() != logged.len() {
        return Err(format!("{} sentences are printed, and {} logged", printed.len(), logged.len()));
    }
    match printed.iter().zip(&logged).find(|(printed, logged)| printed != logged) {
        None => Ok(()),
        Some((printed, logged)) => {
            Err(format!("a sentence differs\n        printed: {printed}\n        logged:  {logged}"))
        }
    }
}

/// Builds a program from a copy of the sources, with or without the lines of the log.
fn build_copy(board: &Board, program: &str, with_lines: bool) -> Result<Vec<u8>, String> {
    let copy = workspace::target_dir().join("firmware/log");
    let others = ["crates/embedded-safetensors", "firmware/board", board.package.folder];
    let folders = if with_lines { &others[..] } else { &[] };
    for folder in folders.iter().chain(&["firmware/app"]) {
        // What an earlier run wrote is no part of this one.
        let _ = std::fs::remove_dir_all(copy.join(folder));
        let removed = copy_sources(&workspace::root().join(folder), &copy.join(folder), !with_lines)?;
        if removed == 0 && !with_lines {
            return Err("there are no lines of the log to leave out".to_owned());
        }
    }
    copy_file(&workspace::root().join("Cargo.toml"), &copy.join("Cargo.toml"), false)?;
    let (folder, target) = (copy.join(board.package.folder), copy.join("target"));
    let build = Toolchain::for_target(board.triple())?.cargo("build").dir(&folder);
    build.env("CARGO_TARGET_DIR", &target).args(["--release", "--locked", "--bin", program]).capture()?;
    workspace::read(&target.join(board.triple()).join("release").join(program))
}

/// Copies a folder; says how many lines of the log it has left out.
fn copy_sources(from: &Path, to: &Path, without_log: bool) -> Result<usize, String> {
    let failed = |error| format!("cannot read {}: {error}", from.display());
    let mut removed = 0;
    for entry in std::fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let to = to.join(entry.file_name());
        removed += match entry.file_type().map_err(failed)?.is_dir() {
            true if entry.file_name() == "target" => 0,
            true => copy_sources(&entry.path(), &to, without_log)?,
            false => copy_file(&entry.path(), &to, without_log)?,
        };
    }
    Ok(removed)
}

fn copy_file(from: &Path, to: &Path, without_log: bool) -> Result<usize, String> {
    let bytes = workspace::read(from)?;
    let extension = from.extension().and_then(|extension| extension.to_str());
    let (text, removed) = match (String::from_utf8(bytes), extension) {
        (Ok(text), Some("rs")) if without_log => without_lines(&text),
        // Nothing uses the macros of the log any more.
        (Ok(text), Some("toml")) => (text.replace("\"deny\"", "\"allow\""), 0),
        (Ok(text), _) => (text, 0),
        (Err(error), _) => return workspace::write(to, error.as_bytes()).map(|()| 0),
    };
    workspace::write(to, text.as_bytes()).map(|()| removed)
}

/// A source without the statements that log, and how many those were.
fn without_lines(source: &str) -> (String, usize) {
    let (mut left, mut removed, mut inside) = (String::new(), 0, false);
    for line in source.split_inclusive('\n') {
        let begins = ["debug!(", "trace!("].iter().any(|name| line.trim_start().starts_with(name));
        removed += usize::from(begins);
        inside |= begins;
        // The places of what follows stay the same.
        left.push_str(if inside { "\n" } else { line });
        inside &= !line.trim_end().ends_with(");");
    }
    (left, removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_that_is_logged_otherwise_is_seen() {
        let judge =
            |lines: &[&str]| is_as_printed(&lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>());
        assert_eq!(judge(&["logged: a", "logged: b", "printed: a", "printed: b"]), Ok(()));
        assert!(
            judge(&["logged: a", "logged: b", "printed: a", "printed: c"])
                .unwrap_err()
                .contains("logged:  b")
        );
        assert!(judge(&["logged: a", "printed: a", "printed: b"]).is_err());
        assert!(judge(&["exit"]).is_err());
    }

    #[test]
    fn whole_statements_are_left_out() {
        let source = "a();\n    trace!(\"b {}\", c);\nd();\ndebug!(\n    \"e\",\n);\nmacro_rules! trace {}\n";
        let (left, removed) = without_lines(source);
        assert_eq!(left, "a();\n\nd();\n\n\n\nmacro_rules! trace {}\n");
        assert_eq!(removed, 2);
    }
}
