//! `cargo xtask formats`: one vector in the formats that the field compares.

use super::Command;
use crate::budget::{self, Row};
use crate::formats::{self, Figures};
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "formats",
    about: "one vector in many formats, beside its bare bytes (--json; --write: the page that shows it)",
    run,
};

fn run(words: &[String]) -> Result<ExitCode, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if !matches!(words[..], [] | ["--json"] | ["--write"]) {
        return Err("usage: cargo xtask formats [--json | --write]".to_owned());
    }
    let figures = Figures::measure()?;
    let rows = figures.rows()?;
    match words[..] {
        ["--json"] => println!(r#"{{"rows":{},"formats":{}}}"#, budget::json(&rows), figures.json()),
        ["--write"] => formats::write(&figures)?,
        _ => print!("{}", figures.text()),
    }
    if words != ["--json"] {
        rows.iter().for_each(|row| println!("{}", row.sentence()));
    }
    Ok(if rows.iter().all(Row::is_kept) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
