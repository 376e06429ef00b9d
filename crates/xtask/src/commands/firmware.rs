//! `cargo xtask firmware [BOARD…] [--bless] [--list]`: the boards, against what they must say.

use super::Command;
use crate::boards::{self, BOARDS, Board};
use crate::demo;
use crate::report::Report;
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "firmware",
    about: "run the boards (BOARD…: only these; --bless: what they say is right; --list: which there are)",
    run,
};

fn run(words: &[String]) -> Result<ExitCode, String> {
    if words.iter().any(|word| word == "--list") {
        demo::list();
        return Ok(ExitCode::SUCCESS);
    }
    let known = ["--list", "--bless"];
    if words.iter().any(|word| word.starts_with('-') && !known.contains(&word.as_str())) {
        return Err("usage: cargo xtask firmware [BOARD…] [--bless] [--list]".to_owned());
    }
    let bless = words.iter().any(|word| word == "--bless");
    let names: Vec<&String> = words.iter().filter(|word| *word != "--bless").collect();
    let named: Result<Vec<&'static Board>, String> = names.iter().map(|name| boards::find(name)).collect();
    let named = if names.is_empty() { BOARDS.iter().collect() } else { named? };
    let mut report = Report::new(|_| "cargo xtask firmware".to_owned());
    report.stage("firmware", "every board says what it must", || boards::some(&named, bless));
    Ok(report.print(None))
}
