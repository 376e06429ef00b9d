//! `cargo xtask`: the commands for developing this repository.
//!
//! Each command sets up what it needs, or says in one sentence what to run.

mod boards;
mod c;
mod commands;
mod demo;
mod elf;
mod machine;
mod measure;
mod model;
mod process;
mod python;
mod report;
mod stages;
mod toolchain;
mod workers;
mod workspace;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    match process::end_all_when_interrupted().and_then(|()| commands::run(&words()?)) {
        Ok(code) => code,
        Err(sentence) => {
            eprintln!("xtask: {sentence}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the arguments, without the option that every command has.
fn words() -> Result<Vec<String>, String> {
    let words = std::env::args_os().skip(1).map(OsString::into_string).collect::<Result<Vec<_>, _>>();
    let words = words.map_err(|word| format!("an argument is not UTF-8: {}", word.to_string_lossy()))?;
    let (flags, words): (Vec<_>, Vec<_>) = words.into_iter().partition(|word| word == "--no-install");
    if !flags.is_empty() {
        machine::install_nothing();
    }
    Ok(words)
}
