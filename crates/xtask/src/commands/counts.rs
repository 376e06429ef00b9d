//! `cargo xtask counts [--bless] [--json] [--write]`: instructions of the main paths, and memory of programs.

use super::Command;
use crate::{budget, counts};
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "counts",
    about: "instructions and memory (--bless: the limits become these; --write: the page; --json: for machines)",
    run,
};

const PAGE: &str = "benches/report/memory.md";

fn run(words: &[String]) -> Result<ExitCode, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] => show(|counts, memory| format!("{}\n{}", budget::show(counts), budget::show(memory))),
        ["--json"] => show(|counts, memory| {
            format!("{{\"counts\":{},\"memory\":{}}}\n", budget::json(counts), budget::json(memory))
        }),
        ["--write"] => write(),
        ["--bless"] => bless(),
        _ => Err("usage: cargo xtask counts [--bless] [--write] [--json]".to_owned()),
    }
}

fn show(text: impl FnOnce(&[budget::Row], &[budget::Row]) -> String) -> Result<ExitCode, String> {
    let (counts, memory) = (counts::rows(&counts::count()?)?, counts::memory()?);
    print!("{}", text(&counts, &memory));
    let is_kept = counts.iter().chain(&memory).all(budget::Row::is_kept);
    Ok(if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The tables of the page; those of instructions are `limits.txt`.
fn write() -> Result<ExitCode, String> {
    budget::write_table(PAGE, "heap", &counts::rows(&[counts::heap()?])?)?;
    budget::write_table(PAGE, "memory", &counts::memory()?)?;
    Ok(ExitCode::SUCCESS)
}

fn bless() -> Result<ExitCode, String> {
    counts::bless(&counts::count()?)?;
    Ok(ExitCode::SUCCESS)
}
