//! `safetensors`: the command line for safetensors files. The program calls [`run`], and so does the Python
//! package.
#![forbid(unsafe_code)]

mod args;
#[cfg(feature = "chips")]
mod chips;
mod commands;
mod context;
mod convert;
mod error;
mod exit;
mod input;
mod json;
mod lint;
mod output;
mod pack;
mod print;
mod report;
mod scan;
mod stop;
mod table;
mod tensor;
mod text;
mod threads;
mod work;

use args::remote::{Secrets, hide_in_paths};
use clap::{Command, CommandFactory, FromArgMatches, Parser};
use context::Context;
use std::ffi::OsString;
use std::sync::Arc;

/// Validate, inspect, compare, convert and create safetensors files
#[derive(Parser)]
#[command(name = "safetensors", version, max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    command: commands::Command,

    #[command(flatten)]
    remote: args::remote::Settings,
}

/// The command line, with what only some commands have.
fn command_line() -> Command {
    args::remote::explain(CommandLine::command())
}

/// Runs the command with these words, of which the first is the name of the program. Returns the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let secrets = Arc::new(Secrets::default());
    let words: Vec<OsString> = words.into_iter().collect();
    let found = hide_in_paths(command_line(), &secrets).try_get_matches_from(&words);
    let exit = match found.and_then(|found| CommandLine::from_arg_matches(&found)) {
        Ok(line) => line.command.run(&Context::new(line.remote, secrets)),
        Err(error) => commands::usage::end(&error, &words),
    };
    exit.code()
}
