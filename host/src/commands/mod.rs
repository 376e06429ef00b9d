//! The subcommands, one file each.

mod cat;
mod check;
mod checkpoint;
mod completions;
mod convert;
mod decode;
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
mod pack;
mod quant;
mod report;
mod scan;
mod slice;
mod split;
mod stats;
pub mod usage;
#[cfg(not(feature = "chips"))]
mod without_chips;

use crate::args::remote::{Settings, explain};
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::discover::models_in;
use crate::input::model::file_of;
use crate::print::diagnostic::say;
use clap::CommandFactory;
use std::path::{Path, PathBuf};

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

/// The subcommands.
#[derive(clap::Subcommand)]
pub enum Command {
    Check(check::Check),
    #[command(aliases = ["info", "ls", "show"])]
    Inspect(inspect::Inspect),
    Stats(stats::Stats),
    Lint(lint::Lint),
    Report(report::Report),
    Cat(cat::Cat),
    Slice(slice::Slice),
    Convert(convert::Convert),
    Scan(scan::Scan),
    Quant(quant::Quant),
    Pack(pack::Pack),
    Split(split::Split),
    Join(join::Join),
    Decode(decode::Decode),
    Diff(diff::Diff),
    Hash(hash::Hash),
    Checkpoint(checkpoint::Checkpoint),
    Emit(emit::Emit),
    #[cfg(feature = "chips")]
    Fit(fit::Fit),
    #[cfg(feature = "chips")]
    Flash(flash::Flash),
    #[cfg(not(feature = "chips"))]
    Fit(without_chips::WithoutChips),
    #[cfg(not(feature = "chips"))]
    Flash(without_chips::WithoutChips),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    pub fn run(self, context: &Context) -> Exit {
        match self {
            Self::Check(check) => end(check, context),
            Self::Inspect(inspect) => end(inspect, context),
            Self::Stats(stats) => end(stats, context),
            Self::Lint(lint) => end(lint, context),
            Self::Report(report) => end(report, context),
            Self::Cat(cat) => end(cat, context),
            Self::Slice(slice) => end(slice, context),
            Self::Convert(convert) => end(convert, context),
            Self::Scan(scan) => end(scan, context),
            Self::Quant(quant) => end(quant, context),
            Self::Pack(pack) => end(pack, context),
            Self::Split(split) => end(split, context),
            Self::Join(join) => end(join, context),
            Self::Decode(decode) => end(decode, context),
            Self::Diff(diff) => end(diff, context),
            Self::Hash(hash) => end(hash, context),
            Self::Checkpoint(checkpoint) => end(checkpoint, context),
            Self::Emit(emit) => end(emit, context),
            Self::Fit(fit) => end(fit, context),
            Self::Flash(flash) => end(flash, context),
            Self::Completions(completions) => end(completions, context),
            Self::Man(man) => end(man, context),
        }
    }
}

/// A subcommand with its arguments.
pub trait Run {
    /// Whether output, errors included, is JSON.
    fn json(&self) -> bool {
        false
    }

    /// Runs the command.
    ///
    /// # Errors
    /// The error to report before exiting.
    fn run(self, context: &Context) -> Outcome;
}

fn end(command: impl Run, context: &Context) -> Exit {
    let json = command.json();
    command.run(context).unwrap_or_else(|error| say(&error, json))
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
    pub fn json(&self) -> bool {
        self.json
    }

    /// Treats every file and returns the most severe exit code. Stops if standard output fails.
    fn each<E: Into<Error>>(&self, mut treat: impl FnMut(&Path, bool) -> Result<Exit, E>) -> Outcome {
        check_stdin_once(&self.files)?;
        let mut worst = Exit::Good;
        for file in &each_of(&self.files) {
            worst = worst.max(treat(file, self.json).map_err(Into::into)?);
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
