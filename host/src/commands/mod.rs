//! The subcommands, one file each.

mod cat;
mod check;
mod checkpoint;
mod completions;
mod convert;
mod decode;
mod delta;
mod diff;
mod emit;
#[cfg(feature = "chips")]
mod fit;
#[cfg(feature = "chips")]
mod flash;
mod hash;
mod inspect;
mod join;
mod lint;
mod man;
mod merge;
mod pack;
mod quant;
mod repair;
mod report;
mod scan;
mod set;
mod sign;
mod slice;
mod split;
mod stats;
pub mod usage;
mod verify;
#[cfg(not(feature = "chips"))]
mod without_chips;

use crate::args::remote::{Settings, explain};
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::discover::models_in;
use crate::input::model::{Model, file_of};
use crate::print::diagnostic::say;
use clap::{ArgMatches, CommandFactory};
use std::path::{Path, PathBuf};
#[cfg(not(feature = "chips"))]
use {without_chips as fit, without_chips as flash};

/// Validate, inspect, compare, convert and create safetensors files
#[derive(clap::Parser)]
#[command(name = "safetensors", version, max_term_width = 100)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Command,

    #[command(flatten)]
    pub remote: Settings,
}

/// The command line, with what only some commands have.
pub fn command_line() -> clap::Command {
    explain(CommandLine::command())
}

/// A subcommand with its arguments.
pub trait Run {
    /// Runs the command.
    ///
    /// # Errors
    /// The error to report before exiting.
    fn run(self, context: &Context) -> Outcome;
}

/// Other names of `inspect`.
const ALIASES: [&str; 3] = ["info", "ls", "show"];

/// Declares [`Command`]: a line for each subcommand, in the order of the help.
macro_rules! subcommands {
    ($($(#[$others:meta])* $name:ident($module:ident),)+) => {
        /// The names of the subcommands.
        const NAMES: [&str; [$(stringify!($module)),+].len()] = [$(stringify!($module)),+];

        /// The subcommands.
        #[derive(clap::Subcommand)]
        pub enum Command {
            $($(#[$others])* $name($module::$name),)+
        }

        impl Run for Command {
            fn run(self, context: &Context) -> Outcome {
                match self {
                    $(Self::$name(command) => command.run(context),)+
                }
            }
        }
    };
}

subcommands! {
    Check(check),
    #[command(aliases = ALIASES)]
    Inspect(inspect),
    Stats(stats),
    Lint(lint),
    Report(report),
    Cat(cat),
    Slice(slice),
    Convert(convert),
    Scan(scan),
    Quant(quant),
    Pack(pack),
    Set(set),
    Merge(merge),
    Split(split),
    Join(join),
    Repair(repair),
    Decode(decode),
    Diff(diff),
    Hash(hash),
    Sign(sign),
    Verify(verify),
    Delta(delta),
    Checkpoint(checkpoint),
    Emit(emit),
    Fit(fit),
    Flash(flash),
    Completions(completions),
    Man(man),
}

/// Whether the output of the command, errors included, is JSON.
pub fn wants_json(found: &ArgMatches) -> bool {
    let json = |(_, found): (_, &ArgMatches)| found.try_get_one("json").ok().flatten().copied();
    found.subcommand().and_then(json).unwrap_or(false)
}

/// Arguments of commands that treat one file after another in the same way.
#[derive(clap::Args)]
pub struct Files {
    /// Print one JSON object per file
    #[arg(long)]
    json: bool,

    /// Models: files, shard indexes or directories, or `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Files {
    /// Treats every file and returns the most severe exit code. Stops if standard output fails. A name of a
    /// tensor among the files is an error, which says how to choose it.
    fn each(&self, context: &Context, only: &str, mut treat: impl FnMut(&Path, bool) -> Outcome) -> Outcome {
        check_stdin_once(&self.files)?;
        let first = &self.files[0];
        let mut lost = self.files.iter().filter(|file| first.is_file() && !file.exists()).peekable();
        if lost.peek().is_some()
            && let Ok(model) = Model::open_header(context, first)
            && let Some(name) = lost.find(|name| model.find(&name.to_string_lossy()).is_some())
        {
            return Err(Error::about(name, format!("is a tensor, not a file; choose it with `{only}`")));
        }
        let mut worst = Exit::Good;
        for file in &each_of(&self.files) {
            worst = worst.max(match treat(file, self.json) {
                Err(error) if error.of_output().is_none() => say(&error, self.json),
                done => done?,
            });
            if worst == Exit::Interrupted {
                break;
            }
        }
        Ok(worst)
    }
}

/// The paths that a command reads one after another: a directory that is not one model means each in it.
fn each_of(paths: &[PathBuf]) -> Vec<PathBuf> {
    let each = |path: &PathBuf| match file_of(path) {
        Ok(_) => vec![path.clone()],
        // Opening it says what is wrong.
        Err(_) => models_in(path).unwrap_or_else(|_| vec![path.clone()]),
    };
    paths.iter().flat_map(each).collect()
}

/// # Errors
/// Standard input is given twice.
fn check_stdin_once(files: &[PathBuf]) -> Result<(), Error> {
    match files.iter().filter(|file| file.as_os_str() == "-").count() {
        0 | 1 => Ok(()),
        _ => Err(Error::usage("standard input can be read only once; `-` is given twice")),
    }
}
