//! `cargo xtask counts [--bless] [--json]`: how many instructions the main paths take.

use super::Command;
use crate::{budget, counts};
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "counts",
    about: "instructions of the main paths (--bless: the limits become these; --json: for machines)",
    run,
};

fn run(words: &[String]) -> Result<ExitCode, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] => show(budget::show),
        ["--json"] => show(|rows| format!("{{\"counts\":{}}}\n", budget::json(rows))),
        ["--bless"] => bless(),
        _ => Err("usage: cargo xtask counts [--bless] [--json]".to_owned()),
    }
}

fn show(text: impl FnOnce(&[budget::Row]) -> String) -> Result<ExitCode, String> {
    let rows = counts::rows(&counts::count()?)?;
    print!("{}", text(&rows));
    let is_kept = rows.iter().all(budget::Row::is_kept);
    Ok(if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn bless() -> Result<ExitCode, String> {
    counts::bless(&counts::count()?)?;
    Ok(ExitCode::SUCCESS)
}
