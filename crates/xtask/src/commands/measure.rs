//! `cargo xtask measure`

use super::Command;
use crate::measure;
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "measure",
    about: "measure flash, RAM and instructions, judge them by benches/limits.toml, and write the pages with them",
    run,
};

fn run(words: &[String]) -> Result<ExitCode, String> {
    if let Some(word) = words.first() {
        return Err(format!("unknown word {word}: `cargo xtask measure` takes none"));
    }
    let tally = measure::costs(true)?;
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
