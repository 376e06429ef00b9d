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

pub use split::size;

use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::discover::models_in;
use crate::input::model::file_of;
use crate::print::diagnostic::say;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The subcommands.
#[derive(clap::Subcommand)]
pub enum Command {
    Check(check::Check),
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
    pub fn run(self) -> Exit {
        match self {
            Self::Check(check) => end(check),
            Self::Inspect(inspect) => end(inspect),
            Self::Stats(stats) => end(stats),
            Self::Lint(lint) => end(lint),
            Self::Report(report) => end(report),
            Self::Cat(cat) => end(cat),
            Self::Slice(slice) => end(slice),
            Self::Convert(convert) => end(convert),
            Self::Scan(scan) => end(scan),
            Self::Quant(quant) => end(quant),
            Self::Pack(pack) => end(pack),
            Self::Split(split) => end(split),
            Self::Join(join) => end(join),
            Self::Decode(decode) => end(decode),
            Self::Diff(diff) => end(diff),
            Self::Hash(hash) => end(hash),
            Self::Checkpoint(checkpoint) => end(checkpoint),
            Self::Emit(emit) => end(emit),
            Self::Fit(fit) => end(fit),
            Self::Flash(flash) => end(flash),
            Self::Completions(completions) => end(completions),
            Self::Man(man) => end(man),
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
    fn run(self) -> Outcome;
}

fn end(command: impl Run) -> Exit {
    let json = command.json();
    command.run().unwrap_or_else(|error| say(&error, json))
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
    fn each(&self, mut treat: impl FnMut(&Path, bool) -> io::Result<Exit>) -> Outcome {
        check_stdin_once(&self.files)?;
        let mut worst = Exit::Good;
        for file in &each_of(&self.files) {
            worst = worst.max(treat(file, self.json)?);
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

/// Reads a whole number of an option.
///
/// # Errors
/// It is not a number, or out of range.
pub fn whole<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "a whole number needed, within its limits".to_owned())
}

/// Reads how many of something are wanted.
///
/// # Errors
/// It is not a number, or 0.
pub fn count(text: &str) -> Result<NonZero<usize>, String> {
    text.parse().map_err(|_| "a number above 0 needed".to_owned())
}

/// # Errors
/// Standard input is given twice.
fn check_stdin_once(files: &[PathBuf]) -> Result<(), Error> {
    match files.iter().filter(|file| file.as_os_str() == "-").count() {
        0 | 1 => Ok(()),
        _ => Err(Error::usage("standard input can be read only once; `-` is given twice")),
    }
}
