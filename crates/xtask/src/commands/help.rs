//! `cargo xtask help`

use super::{COMMANDS, Command};
use std::process::ExitCode;

pub const COMMAND: Command = Command { name: "help", about: "this list", run: |_| print() };

const REMARKS: &str = "
Each command sets up what it needs: Rust targets with `rustup target add`, or, where those cannot be had,
with Debian's own compiler; programs with apt-get when root on Debian. Elsewhere it says what to run.

Environment:
  XTASK_COMPILER=debian   build for other targets with Debian's compiler even where rustup could";

pub fn print() -> Result<ExitCode, String> {
    println!("Usage: cargo xtask COMMAND\n");
    for command in &COMMANDS {
        println!("  {:10}{}", command.name, command.about);
    }
    println!("{REMARKS}");
    Ok(ExitCode::SUCCESS)
}
