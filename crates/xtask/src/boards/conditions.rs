//! Conditions that a run must meet beyond its golden file.

use super::run::Ended;
use super::{Board, Case, log, storage};
use crate::elf::Elf;
use crate::process::Run;
use crate::toolchain::own_cargo;
use crate::workspace;
use serde::Deserialize;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The conditions of a case; those not named are not checked.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Conditions {
    /// Every digit is read to the last bit as this computer reads it with this model.
    reads: Option<String>,
    /// Every product with a quantised matrix has the bits that this computer computes with this model, and
    /// numpy.
    multiplies: Option<String>,
    /// Every prediction has the bits that this computer computes with this model, and aprender.
    predicts: Option<String>,
    /// Every value of the structure in this file is printed as on this computer.
    shows: Option<String>,
    /// Every vector gets the verdict that this computer gives it.
    #[serde(default)]
    judges: bool,
    /// The largest number of bytes of RAM that the program may use.
    ram: Option<u64>,
    /// The program has no parser and nothing of this model in RAM. The other program named has a parser, so
    /// that the check itself is tested.
    has_no_parser: Option<[String; 2]>,
    /// The image has at this byte offset the recording that this computer makes with this model.
    records: Option<(usize, String)>,
    /// The program contains nothing of the log although it could be built with one.
    #[serde(default)]
    has_no_log: bool,
    /// The program logs and prints the same sentences.
    #[serde(default)]
    logs_as_printed: bool,
}

impl Conditions {
    pub fn judge(&self, board: &'static Board, name: &str, case: &Case, ended: &Ended) -> Result<(), String> {
        if let Some(model) = &self.reads {
            same_lines("digit ", &digits_here(model)?, ended)?;
        }
        if let Some(model) = &self.multiplies {
            const BEGINNING: &str = "product ";
            let here = run_here(&["multiply".into(), storage::model_path(model)])?;
            same_lines(BEGINNING, &here, ended)?;
            same_lines(BEGINNING, &workspace::text(&workspace::root().join(PRODUCTS))?, ended)?;
        }
        if let Some(model) = &self.predicts {
            const BEGINNING: &str = "prediction ";
            let here = run_here(&["predict".into(), storage::model_path(model)])?;
            same_lines(BEGINNING, &here, ended)?;
            same_lines(BEGINNING, &workspace::text(&workspace::root().join(PREDICTIONS))?, ended)?;
        }
        if let Some(file) = &self.shows {
            let here = run_here(&["structure".into(), storage::path(file)?])?;
            same_lines("value: ", &here, ended)?;
        }
        if self.judges {
            let words = ["vectors".into(), storage::manifest(), storage::vectors()?];
            same_lines("vector", &run_here(&words)?, ended)?;
        }
        if let Some(most) = self.ram {
            at_most(most, ended)?;
        }
        if let Some([other, model]) = &self.has_no_parser {
            no_parser(&board.program(&case.program)?, &board.program(other)?, model)?;
        }
        if let Some((at, model)) = &self.records {
            check_recording(*at, model, board, name)?;
        }
        if self.has_no_log {
            log::check_absent(board, &case.program)?;
        }
        if self.logs_as_printed { log::check_same_as_printed(&ended.lines) } else { Ok(()) }
    }
}

/// The products that numpy computes.
const PRODUCTS: &str = "tests/quantised/products.txt";

/// The predictions of the crate aprender when it trained the model.
const PREDICTIONS: &str = "tests/aprender/predictions.txt";

/// `firmware/app` on this computer, which computes what boards must print; without the log, which only a
/// device can send.
fn app(subcommand: &str) -> Run {
    let run = own_cargo().dir(&workspace::root().join("firmware/app"));
    let run = run.env("CARGO_TARGET_DIR", workspace::target_dir().join("firmware/app"));
    run.args([subcommand, "--locked", "--quiet", "--features", "structures,vectors"])
}

/// Runs its tests, which cover the code that all boards share.
pub fn test_app() -> Result<(), String> {
    app("test").capture().map(drop)
}

fn run_here(words: &[impl AsRef<OsStr>]) -> Result<String, String> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let build = || {
        app("build").args(["--release", "--example", "desktop"]).capture()?;
        Ok(workspace::target_dir().join("firmware/app/release/examples/desktop"))
    };
    let program = PROGRAM.get_or_init(build).as_ref().map_err(String::clone)?;
    let output = Run::new(program).args(words).limit(60).capture()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn digits_here(model: &str) -> Result<String, String> {
    let command = if model == "digits-i8" { "integer" } else { "digits" };
    run_here(&[command.into(), storage::model_path(model)])
}

fn same_lines(beginning: &str, here: &str, ended: &Ended) -> Result<(), String> {
    let here: Vec<&str> = here.lines().filter(|line| line.starts_with(beginning)).collect();
    let there = ended.lines.iter().map(String::as_str).filter(|line| line.starts_with(beginning));
    let there: Vec<&str> = there.collect();
    if here.is_empty() || here.len() != there.len() {
        let (here, there) = (here.len(), there.len());
        return Err(format!("{there} lines begin with \"{beginning}\"; on this computer {here} do"));
    }
    match here.iter().zip(&there).find(|(here, there)| here != there) {
        None => Ok(()),
        Some((here, there)) => Err(format!(
            "the board differs from this computer\n        here:  {here}\n        there: {there}"
        )),
    }
}

fn at_most(most: u64, ended: &Ended) -> Result<(), String> {
    let line = ended.lines.iter().find_map(|line| line.strip_prefix("RAM: "));
    let used = line.and_then(|line| line.split(' ').next()).and_then(|word| word.parse::<u64>().ok());
    match used {
        None => Err("it does not print how much RAM it needs".to_owned()),
        Some(used) if used > most => Err(format!("it needs {used} bytes of RAM, more than {most}")),
        Some(_) => Ok(()),
    }
}

/// Checks that a program whose model was read at compile time has the file's bytes in flash once and no
/// parser. The other program must have a parser, to show that the check finds it.
fn no_parser(program: &Path, other: &Path, model: &str) -> Result<(), String> {
    /// A word in the names of all symbols of the library.
    const CORE: &str = "embedded_safetensors";
    let elf = Elf::open(program)?;
    elf.lacks(&[CORE])?;
    let (places, ram) = (elf.addresses_of(&storage::bytes(model)?).len(), elf.size_of(&[".data", ".bss"]));
    if (places, ram) != (1, 0) {
        return Err(format!("the model is in flash {places} times, and {ram} bytes of RAM have a name"));
    }
    match Elf::open(other)?.lacks(&[CORE]) {
        Err(sentence) if sentence.contains(CORE) => Ok(()),
        Err(sentence) => Err(sentence),
        Ok(()) => Err("the other program has no parser either".to_owned()),
    }
}

/// Checks that the file in flash is the one that this computer records. Keeps the file for the command to
/// validate.
fn check_recording(at: usize, model: &str, board: &Board, case: &str) -> Result<(), String> {
    let image = board.image(case);
    let flash = workspace::read(&image)?;
    let (path, here) = (path_of_recording(board, case), image.with_extension("here.safetensors"));
    workspace::write(&here, b"")?;
    run_here(&["record".into(), storage::model_path(model), here.clone(), PathBuf::from(&board.name)])?;
    let expected = workspace::read(&here)?;
    let file = flash.get(at..).and_then(|flash| flash.get(..expected.len()));
    let file = file.ok_or("the flash is too small for the recording")?;
    workspace::write(&path, file)?;
    match file.iter().zip(&expected).position(|(found, expected)| found != expected) {
        None => Ok(()),
        Some(at) => Err(format!("byte {at} of the recording differs from this computer's")),
    }
}

/// Validates with the command the files that boards recorded in a case.
pub fn check_recordings(
    boards: &[&'static Board],
    case: &str,
    command: Result<PathBuf, String>,
) -> Result<(), String> {
    let records =
        |board: &&&Board| board.cases.get(case).is_some_and(|case| case.conditions.records.is_some());
    let paths: Vec<PathBuf> =
        boards.iter().filter(records).map(|board| path_of_recording(board, case)).collect();
    if paths.is_empty() {
        return Err("no board records".to_owned());
    }
    Run::new(command?).args(["check"]).args(paths).capture().map(drop)
}

fn path_of_recording(board: &Board, case: &str) -> PathBuf {
    board.image(case).with_extension("safetensors")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_ram_are_checked_exactly() {
        let ended =
            |text: &str| Ended { lines: text.lines().map(str::to_owned).collect(), exit_code: Some(0) };
        let here = "model: A\ndigit 0: 1\ndigit 1: 2\n";
        let judge = |text: &str| same_lines("digit ", here, &ended(text));
        assert_eq!(judge("board\ndigit 0: 1\ndigit 1: 2"), Ok(()));
        assert!(judge("digit 0: 1\ndigit 1: 3").unwrap_err().contains("there: digit 1: 3"));
        assert!(judge("digit 0: 1").is_err() && same_lines("digit ", "", &ended("")).is_err());
        let used = ended("RAM: 8192 of 65536 bytes, 0 static and 8192 of stack");
        assert!(
            at_most(8192, &used).is_ok()
                && at_most(8191, &used).is_err()
                && at_most(1, &ended("RAM")).is_err()
        );
    }
}
