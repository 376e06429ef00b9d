//! The subcommands, one file each.

mod check;
mod decode;
mod inspect;

use crate::exit::Exit;
use crate::output::{cannot_write, complain};
use std::io;
use std::path::{Path, PathBuf};

/// What the program can do.
#[derive(clap::Subcommand)]
pub enum Command {
    Check(check::Check),
    Inspect(inspect::Inspect),
    Decode(decode::Decode),
}

impl Command {
    pub fn run(self) -> Exit {
        match self {
            Self::Check(check) => check.run(),
            Self::Inspect(inspect) => inspect.run(),
            Self::Decode(decode) => decode.run(),
        }
    }
}

/// Files that are treated one after the other, each in the same way.
#[derive(clap::Args)]
pub struct Files {
    /// Print one JSON object per file
    #[arg(long)]
    json: bool,

    /// Files to read; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Files {
    /// Treats every file, and gives the heaviest exit code of all. Where standard output takes no more, that
    /// is the end.
    fn each(&self, mut treat: impl FnMut(&Path, bool) -> io::Result<Exit>) -> Exit {
        if self.files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
            complain("safetensors: standard input can be read only once, but `-` is given twice");
            return Exit::NotRead;
        }
        let mut worst = Exit::Sound;
        for file in &self.files {
            match treat(file, self.json) {
                Ok(exit) => worst = worst.max(exit),
                Err(error) => return cannot_write(&error),
            }
        }
        worst
    }
}
