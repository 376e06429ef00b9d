//! `cargo xtask`: one command for each thing that a developer does with this repository.
//!
//! Each command sets up by itself what it needs, or says in one sentence what to run.

mod boards;
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

use std::process::ExitCode;

fn main() -> ExitCode {
    let (flags, words): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word == "--no-install");
    if !flags.is_empty() {
        machine::install_nothing();
    }
    match process::end_all_when_interrupted().and_then(|()| commands::run(&words)) {
        Ok(code) => code,
        Err(sentence) => {
            eprintln!("xtask: {sentence}");
            ExitCode::FAILURE
        }
    }
}
