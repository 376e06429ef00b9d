//! `cargo xtask`: the commands for developing this repository.
//!
//! Each command sets up what it needs, or says in one sentence what to run.

mod api;
mod boards;
mod c;
mod commands;
mod demo;
mod elf;
mod fuzz;
mod generate;
mod linking;
mod lint;
mod machine;
mod measure;
mod minilm;
mod model;
mod process;
mod python;
mod release;
mod report;
mod stages;
mod toolchain;
mod workers;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match process::end_all_when_interrupted().and_then(|()| commands::run(&words)) {
        Ok(code) => code,
        Err(sentence) => {
            eprintln!("xtask: {sentence}");
            ExitCode::FAILURE
        }
    }
}
