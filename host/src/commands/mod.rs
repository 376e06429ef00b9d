//! The subcommands, one file each.

mod check;
mod decode;

use crate::exit::Exit;

/// What the program can do.
#[derive(clap::Subcommand)]
pub enum Command {
    Check(check::Check),
    Decode(decode::Decode),
}

impl Command {
    pub fn run(self) -> Exit {
        match self {
            Self::Check(check) => check.run(),
            Self::Decode(decode) => decode.run(),
        }
    }
}
