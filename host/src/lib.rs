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
mod work;

use args::remote::{Secrets, hide_in_paths};
use clap::FromArgMatches;
use commands::{CommandLine, Run, command_line, wants_json};
use context::Context;
use print::diagnostic::say;
use safetensors_files::threads;
use std::ffi::OsString;
use std::sync::Arc;

/// Runs the command with these words; the first is the name of the program. Returns the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let secrets = Arc::new(Secrets::default());
    let words: Vec<OsString> = words.into_iter().collect();
    let found = hide_in_paths(command_line(), &secrets).try_get_matches_from(&words);
    let line = found.and_then(|found| Ok((wants_json(&found), CommandLine::from_arg_matches(&found)?)));
    let exit = match line {
        Ok((json, line)) => {
            let outcome = line.command.run(&Context::new(line.remote, secrets));
            outcome.unwrap_or_else(|error| say(&error, json))
        }
        Err(error) => commands::usage::end(error, &words),
    };
    exit.code()
}
