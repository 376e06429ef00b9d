//! `safetensors split`: splits a model into several files with an index.

use super::{Context, Error, Exit, Outcome, Run};
use crate::args::size;
use crate::input::discover::reject_partial_models;
use crate::input::model::{Model, is_index};
use crate::input::remote::check_output_directory;
use crate::json::{about, object};
use crate::output::directory::Folder;
use crate::output::file::{Closed, Product, check_output_path};
use crate::output::overwrite::check_not_in_model;
use crate::output::stale::{old_files, remove};
use crate::output::stdout::show;
use crate::pack::{Contents, Entry, Layout, Prefer, write};
use crate::text::{counted, listed, quoted, shown_path};
use safetensors_files::shards::{PlannedShard, ShardPlan};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::PathBuf;

/// The most names in a note.
const NAMED: usize = 4;

/// Split a model into shards of a maximum size, compatible with huggingface_hub
///
/// No shard appears before all of them are complete. Exit code: 0 if the files are written, 1 if the model
/// is invalid, 2 for all other errors, 130 if interrupted.
#[derive(clap::Args)]
pub struct Split {
    /// Model: a file, a shard index or directory, or `-` for standard input
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// Output directory, created if missing
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,

    /// Maximum bytes of tensor data per file: a number above 0, alone or with K, KB, M, MB and so on
    #[arg(long, visible_alias = "max-shard-size", value_name = "SIZE", default_value = "5GB")]
    #[arg(value_parser = size)]
    max_size: u64,

    /// File name prefix, before the shard numbers
    #[arg(long, value_name = "NAME", default_value = "model")]
    name: String,

    /// Replace an existing model of that name; the old model's files that the new model does not use are
    /// removed
    #[arg(long)]
    force: bool,

    /// Print a summary as one JSON object
    #[arg(long)]
    json: bool,
}

impl Run for Split {
    fn run(self, context: &Context) -> Outcome {
        if self.name.is_empty() || self.name.contains(['/', '\\']) {
            return Err(Error::usage(format!(
                "--name {} is not a file name; it must not be empty or contain a slash",
                quoted(&self.name)
            )));
        }
        check_output_directory(&self.output)?;
        reject_partial_models(std::slice::from_ref(&self.model), None)?;
        let models = [Model::open(context, &self.model)?];
        let contents = Contents::of(&models, Some(Prefer::First))?;
        let tensors = contents.entries.iter().map(|entry| (entry.name.as_str(), entry.tensor.byte_len()));
        let plan = ShardPlan::new(self.name.as_str(), tensors, self.max_size);
        let old = self.check_places(&plan, &models[0])?;
        let folder = Folder::make(&self.output)?;
        let products = self.write(context, &plan, &contents)?;
        models[0].check_unchanged()?;
        context.check()?;
        put_in_place(products)?;
        folder.keep();
        remove(&old)?;
        self.tell(&plan, &contents)?;
        Ok(Exit::Good)
    }
}

impl Split {
    fn path(&self, shard: &PlannedShard) -> PathBuf {
        self.output.join(shard.file_name())
    }

    fn check_places(&self, plan: &ShardPlan, model: &Model) -> Result<Vec<PathBuf>, Error> {
        let shards: Vec<PathBuf> = plan.shards().map(|shard| self.path(shard)).collect();
        let index = self.output.join(plan.index_name());
        // Readers prefer a single file to an index.
        let whole = self.output.join(format!("{}.safetensors", self.name));
        let old = old_files(&self.output, &self.name, &shards, plan.is_sharded())?;
        for path in shards.iter().chain([&index, &whole]) {
            check_output_path(path, self.force)?;
            if path.is_symlink() {
                return Err(Error::about(
                    path,
                    "is a symbolic link; refusing to overwrite a file that may belong to another model",
                ));
            }
        }
        for path in shards.iter().chain([&index]).chain(&old) {
            check_not_in_model(model, path)?;
        }
        Ok(old)
    }

    /// Writes all files under temporary names, the index last.
    fn write(
        &self,
        context: &Context,
        plan: &ShardPlan,
        contents: &Contents<'_>,
    ) -> Result<Vec<Closed>, Error> {
        let work = context.work("splitting", contents.bytes());
        let by_name: HashMap<_, _> =
            contents.entries.iter().map(|entry| (entry.name.as_str(), entry)).collect();
        let mut files: Vec<Closed> = Vec::new();
        for shard in plan.shards() {
            let entries = shard.tensors().iter().filter_map(|name| by_name.get(name.as_str()));
            let entries = entries.map(|&entry| entry.clone()).collect();
            let part = Contents { entries, metadata: contents.metadata.clone(), ..Contents::default() };
            let path = self.path(shard);
            let mut product = Product::create_after(context, &path, self.force, files.last())?;
            write(&part, Layout::USUAL, (&mut product, &path), &work)?;
            files.push(product.close()?);
        }
        if plan.is_sharded() {
            let path = self.output.join(plan.index_name());
            let mut product = Product::create_after(context, &path, self.force, files.last())?;
            plan.index()?.write(&mut product).map_err(|error| product.cannot(error))?;
            files.push(product.close()?);
        }
        Ok(files)
    }

    fn tell(&self, plan: &ShardPlan, contents: &Contents<'_>) -> io::Result<()> {
        let index = plan.is_sharded().then(|| plan.index_name());
        let shards = plan.shards().map(|shard| {
            let (file, tensors, bytes) = (shard.file_name(), shard.tensors().len(), shard.byte_len());
            object! { file, tensors, bytes }
        });
        let done = object! {
            output: self.output.to_string_lossy(),
            index: &index,
            tensors: contents.entries.len(),
            padding_left_out: contents.padding.tensors,
            total_size: plan.total_size(),
            shards: shards.collect::<Vec<_>>(),
        };
        show(self.json, &about(&self.model, true, done), |mut out| {
            for shard in plan.shards() {
                let (tensors, bytes) = (counted(shard.tensors().len() as u64, "tensor"), shard.byte_len());
                let path = shown_path(&self.path(shard));
                writeln!(out, "{path}: {tensors}, {} of data", counted(bytes, "byte"))?;
            }
            if let Some(index) = &index {
                writeln!(out, "{}: the index", shown_path(&self.output.join(index)))?;
            }
            let large = || contents.entries.iter().filter(|entry| entry.tensor.byte_len() > self.max_size);
            let named = |Entry { name, tensor, .. }: &Entry<'_>| {
                format!("{} with {}", quoted(name), counted(tensor.byte_len(), "byte"))
            };
            let names = listed(large().map(named), NAMED, large().count() as u64);
            if !names.is_empty() {
                writeln!(out, "  note: larger than --max-size, {}: {names}", counted(self.max_size, "byte"))?;
            }
            contents.padding.print(&mut out)
        })
    }
}

/// Renames the shards, then the index. The new model replaces the old one when the index is renamed.
fn put_in_place(files: Vec<Closed>) -> Result<(), Error> {
    let mut new = Vec::new();
    for file in files {
        let path = file.path().to_path_buf();
        let (is_index, is_absent) = (is_index(&path), || matches!(path.try_exists(), Ok(false)));
        new.extend((!is_index && is_absent()).then(|| path.clone()));
        let placed = file.finish();
        // An index that exists although the rename failed may be the new one, which names the new shards.
        if placed.is_err() && (!is_index || is_absent()) {
            new.iter().for_each(|path| drop(fs::remove_file(path)));
        }
        placed?;
    }
    Ok(())
}
