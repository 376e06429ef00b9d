//! `safetensors checkpoint`: copies models into a directory that is created atomically, with their SHA-256
//! sums.

use super::{Context, Error, Exit, Outcome, Run};
use crate::json::{List, object};
use crate::output::stdout::show;
use crate::pack::checkpoint::Contents;
use crate::text::{counted, shown_path};
use std::path::PathBuf;

/// Copy models atomically into a checkpoint directory with a SHA256SUMS file
///
/// Models are validated first. For a sharded model, all shards and the index are copied. `safetensors hash
/// --verify DIR` verifies the directory later. Exit code: 0 if the checkpoint is written, 1 if a model is
/// invalid, 2 if a file cannot be read or written. On failure, an existing checkpoint is unchanged.
#[derive(clap::Args)]
#[command(override_usage = "safetensors checkpoint [OPTIONS] <DIR> <MODEL>...\n       \
    safetensors checkpoint [OPTIONS] -o <DIR> <MODEL>...")]
pub struct Checkpoint {
    /// Models to copy; without -o, the first path is the checkpoint directory to create
    #[arg(required = true, value_name = "MODEL")]
    models: Vec<PathBuf>,

    /// Checkpoint directory to create
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Copy another file too (repeatable)
    #[arg(long, value_name = "FILE")]
    also: Vec<PathBuf>,

    /// Replace an existing checkpoint
    #[arg(long)]
    force: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Run for Checkpoint {
    fn run(self, context: &Context) -> Outcome {
        let mut models = self.models;
        let folder = match self.output {
            Some(output) => output,
            None if models.len() > 1 && models[0].is_file() => {
                return Err(Error::about(&models[0], "is a file; give the directory, then the models"));
            }
            None if models.len() > 1 => models.remove(0),
            None => return Err(Error::usage("a model is missing: give the directory, then the models")),
        };
        let files = Contents::open(context, &models, &self.also)?.write(context, &folder, self.force)?;
        let copied = files.iter().map(|(file, bytes)| object! { file, bytes });
        let done = object! { ok: true, output: folder.to_string_lossy(), files: List(copied) };
        show(self.json, &done, |out| {
            let bytes: u64 = files.iter().map(|(_, bytes)| bytes).sum();
            let (files, bytes) = (counted(files.len() as u64, "file"), counted(bytes, "byte"));
            writeln!(out, "{}: {files}, {bytes}", shown_path(&folder))
        })?;
        Ok(Exit::Good)
    }
}
