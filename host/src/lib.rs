//! `safetensors`: the command line for safetensors files. The program calls [`run`], and so does the Python
//! package.
#![forbid(unsafe_code)]

mod checkpoint;
#[cfg(feature = "chips")]
mod chips;
mod columns;
mod commands;
mod compare;
mod complaint;
mod convert;
mod decoding;
mod dump;
mod excerpt;
mod exit;
mod facts;
mod failure;
mod folder;
mod foreign;
mod glob;
mod header;
mod json;
mod lint;
mod locate;
mod model;
mod nested;
mod new_model;
// Mostly used with the feature `chips`.
mod number;
mod old_model;
mod open;
mod output;
mod overview;
mod overwrite;
mod pack;
mod packed;
mod page;
mod parallel;
mod part;
mod picture;
mod plan;
mod product;
mod published;
mod quant;
mod remote;
mod report;
mod rows;
mod scan;
mod selection;

mod siblings;
mod sliced;
mod slicing;
mod source;
mod stats;
mod structure;
mod sums;
mod table;
mod text;
mod tree;
mod usage;
mod validation;
mod verdict;
mod walk;
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
    remote: remote::Settings,
}

/// The command line, with what only some commands have.
fn command_line() -> Command {
    remote::explain(CommandLine::command())
}

/// Runs the command with these words, of which the first is the name of the program. Returns the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    remote::begin();
    let words: Vec<OsString> = words.into_iter().collect();
    let found = remote::hide_in_paths(command_line()).try_get_matches_from(&words);
    let exit = match found.and_then(|found| CommandLine::from_arg_matches(&found)) {
        Ok(line) => {
            line.remote.apply();
            line.command.run()
        }
        Err(error) => usage::end(&error, &words),
    };
    exit.code()
}
