//! `cargo xtask help [COMMAND]`

use super::{COMMANDS, Command, named};
use std::process::ExitCode;

pub const COMMAND: Command = Command { name: "help", about: "this list, or what one command does", run };

const REMARKS: &str = "
Each command sets up what it needs: Rust targets with `rustup target add`, or, where those cannot be had,
with Debian's own compiler; programs with apt-get when root on Debian. Elsewhere it says what to run.

Options of every command:
  --no-install            say what is missing, and install nothing

Environment:
  XTASK_COMPILER=debian   build for other targets with Debian's compiler even where rustup could";

fn run(words: &[String]) -> Result<ExitCode, String> {
    match words {
        [name, ..] => Ok(print_one(named(name)?)),
        [] => Ok(print()),
    }
}

pub fn print() -> ExitCode {
    println!("Usage: cargo xtask COMMAND\n");
    for command in &COMMANDS {
        println!("  {:10}{}", command.name, command.about);
    }
    println!("{REMARKS}");
    ExitCode::SUCCESS
}

pub fn print_one(command: &Command) -> ExitCode {
    println!("cargo xtask {}: {}", command.name, command.about);
    ExitCode::SUCCESS
}
