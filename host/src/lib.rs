//! `safetensors`: the command line for safetensors files. The program calls [`run`], and so does the Python
//! package.
#![forbid(unsafe_code)]

mod args;
#[cfg(feature = "chips")]
mod chips;
mod commands;
mod convert;
mod error;
mod exit;
mod input;
mod json;
mod lint;
mod output;
mod pack;
mod print;
mod scan;
mod table;
mod tensor;
mod text;
mod threads;
mod work;

use clap::{Command, CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;

/// Validate, inspect, compare, convert and create safetensors files
#[derive(Parser)]
#[command(name = "safetensors", version, max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    command: commands::Command,

    #[command(flatten)]
    remote: input::remote::Settings,
}

/// The command line, with what only some commands have.
fn command_line() -> Command {
    input::remote::explain(CommandLine::command())
}

/// Runs the command with these words, of which the first is the name of the program. Returns the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    input::remote::begin();
    let words: Vec<OsString> = words.into_iter().collect();
    let found = input::remote::hide_in_paths(command_line()).try_get_matches_from(&words);
    let exit = match found.and_then(|found| CommandLine::from_arg_matches(&found)) {
        Ok(line) => {
            line.remote.apply();
            line.command.run()
        }
        Err(error) => commands::usage::end(&error, &words),
    };
    exit.code()
}
