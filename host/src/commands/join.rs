//! `safetensors join`: joins a sharded model into one file.

use super::{Context, Error, Exit, Outcome, Run};
use crate::input::discover::{ShardName, index_of_all, name_of, reject_partial_models, without_listed};
use crate::json::object;
use crate::output::model::NewModel;
use crate::output::overwrite::check_not_in_model;
use crate::pack::{Contents, Layout, Prefer, make, open_all};
use crate::text::{counted, shown_path};
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

/// Join a sharded model into one file
///
/// The index and all shards are validated before anything is written. Exit code: 0 if the file is written,
/// 1 if the index or a shard is invalid or they disagree, 2 for all other errors, 130 if interrupted.
#[derive(clap::Args)]
pub struct Join {
    /// Index of the model, or the directory that contains it, or all shards
    #[arg(required = true, value_name = "MODEL")]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    new: NewModel,
}

impl Run for Join {
    fn run(self, context: &Context) -> Outcome {
        self.new.check(&[])?;
        reject_partial_models(&self.inputs, None)?;
        let inputs = whole(&self.inputs)?;
        let models = open_all(context, &inputs)?;
        models.iter().try_for_each(|model| check_not_in_model(model, &self.new.output))?;
        // The metadata of the first file counts, as when a model is opened.
        let contents = Contents::of(&models, Some(Prefer::First))?;
        let to = (&*self.new.output, self.new.force);
        let bytes = make(context, &contents, Layout::USUAL, to, ("joining", &models))?;
        if !self.new.is_file() {
            // The file went to standard output.
            contents.padding.print(&mut io::stderr())?;
            return Ok(Exit::Good);
        }
        let (output, tensors) = (self.new.output.to_string_lossy(), contents.entries.len());
        let (shards, padding) =
            (models.iter().map(|model| model.parts().len()).sum::<usize>(), contents.padding);
        let done = object! { output, tensors, shards, padding_left_out: padding.tensors, bytes };
        self.new.say(&inputs[0], done, |mut out| {
            let (tensors, files) = (counted(tensors as u64, "tensor"), counted(shards as u64, "file"));
            let (path, bytes) = (shown_path(&self.new.output), counted(bytes, "byte"));
            writeln!(out, "{path}: {tensors} of {files}, {bytes}")?;
            padding.print(&mut out)
        })
    }
}

/// Replaces the shards of a model by its index, if there is one.
///
/// # Errors
/// Several files are not the shards of one model; an index beside them cannot be read.
fn whole(inputs: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let inputs = without_listed(inputs)?;
    if inputs.len() == 1 {
        return Ok(inputs);
    }
    if let Some(index) = index_of_all(&inputs)? {
        return Ok(vec![index]);
    }
    let names: BTreeSet<String> = inputs.iter().map(|path| name_of(path)).collect();
    let models = names.iter().map(|name| ShardName::parse(name).map(|shard| (shard.stem, shard.count)));
    let mut models: Vec<_> = models.collect();
    models.dedup();
    match models[..] {
        [Some((_, count))] if count == inputs.len() as u64 => Ok(inputs),
        _ => {
            let sentence = "these are not the shards of one model; `safetensors pack` merges models";
            Err(Error::usage(sentence))
        }
    }
}
