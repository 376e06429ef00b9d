//! `safetensors split`: splits a model into several files with an index.

use crate::args::size;
use crate::commands::Run;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::discover::reject_partial_models;
use crate::input::model::Model;
use crate::input::remote::check_output_directory;
use crate::json::{self, Object};
use crate::output::directory::Folder;
use crate::output::file::{Closed, Product, check_output_path};
use crate::output::overwrite::{check_not_in_model, check_not_input};
use crate::output::stale::OldModel;
use crate::pack::{Contents, Layout, Prefer, write};
use crate::text::{counted, quoted, shown_text};
use safetensors_files::shards::{PlannedShard, ShardPlan};
use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

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

    /// Maximum bytes of tensor data per file: a number above 0, alone or with KB, MB, GB, TB, KiB, MiB, GiB
    /// or TiB
    #[arg(long, value_name = "SIZE", default_value = "5GB", value_parser = size)]
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
    fn json(&self) -> bool {
        self.json
    }

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
        old.remove()?;
        self.tell(&plan, &contents)?;
        Ok(Exit::Good)
    }
}

/// Complete files that still have temporary names.
struct Parts {
    shards: Vec<Closed>,
    index: Option<Closed>,
}

impl Split {
    fn path(&self, shard: PlannedShard<'_>) -> PathBuf {
        self.output.join(shard.file_name())
    }

    fn check_places(&self, plan: &ShardPlan, model: &Model) -> Result<OldModel, Error> {
        let shards: Vec<PathBuf> = plan.shards().map(|shard| self.path(shard)).collect();
        let (index, whole) = (self.output.join(plan.index_name()), self.whole());
        let old = OldModel::of(&self.output, &self.name, &shards, plan.is_sharded())?;
        for path in shards.iter().chain([&index, &whole]) {
            check_output_path(path, self.force)?;
            if path.is_symlink() {
                return Err(Error::about(
                    path,
                    "is a symbolic link; refusing to overwrite a file that may belong to another model",
                ));
            }
        }
        for path in shards.iter().chain([&index]).chain(old.files()) {
            check_not_input(model.path(), path)?;
            check_not_in_model(model, path)?;
        }
        Ok(old)
    }

    /// The path of the model as a single file, which readers prefer to an index.
    fn whole(&self) -> PathBuf {
        self.output.join(format!("{}.safetensors", self.name))
    }

    /// Writes all files under temporary names.
    fn write(&self, context: &Context, plan: &ShardPlan, contents: &Contents<'_>) -> Result<Parts, Error> {
        let work = context.work("splitting", contents.bytes());
        let by_name: HashMap<_, _> =
            contents.entries.iter().map(|entry| (entry.name.as_str(), entry)).collect();
        let mut shards = Vec::new();
        for shard in plan.shards() {
            let entries = shard.tensors().iter().filter_map(|name| by_name.get(name.as_str()));
            let entries = entries.map(|&entry| entry.clone()).collect();
            let part = Contents { entries, metadata: contents.metadata.clone(), ..Contents::default() };
            let path = self.path(shard);
            let mut product = Product::create(context, &path, self.force)?;
            write(&part, Layout::USUAL, (&mut product, &path), &work)?;
            shards.push(product.close()?);
        }
        let mut index = None;
        if plan.is_sharded() {
            let path = self.output.join(plan.index_name());
            let mut product = Product::create(context, &path, self.force)?;
            plan.index()?.write(&mut product).map_err(|error| product.cannot(error))?;
            index = Some(product.close()?);
        }
        Ok(Parts { shards, index })
    }

    fn tell(&self, plan: &ShardPlan, contents: &Contents<'_>) -> io::Result<()> {
        let folder = self.output.to_string_lossy();
        if self.json {
            let shards = plan.shards().map(|shard| {
                let object = Object::new().text("file", &shard.file_name());
                object.number("tensors", shard.tensors().len() as u64).number("bytes", shard.byte_len()).end()
            });
            let index = if plan.is_sharded() { json::quoted(&plan.index_name()) } else { "null".into() };
            let object = Object::new().text("file", &self.model.to_string_lossy()).flag("ok", true);
            let object = object.text("output", &folder).raw("index", &index);
            let object = object.number("tensors", contents.entries.len() as u64);
            let object = object.number("padding_left_out", contents.padding.tensors);
            let object = object.number("total_size", plan.total_size());
            return writeln!(io::stdout(), "{}", object.raw("shards", &json::array(shards)).end());
        }
        let mut out = io::stdout().lock();
        for shard in plan.shards() {
            let (path, tensors) = (self.path(shard), counted(shard.tensors().len() as u64, "tensor"));
            let path = shown_text(&path.to_string_lossy());
            writeln!(out, "{path}: {tensors}, {} of data", counted(shard.byte_len(), "byte"))?;
        }
        if plan.is_sharded() {
            let path = self.output.join(plan.index_name());
            writeln!(out, "{}: the index", shown_text(&path.to_string_lossy()))?;
        }
        contents.padding.print(&mut out)
    }
}

/// Renames the shards, then the index. The new model replaces the old one when the index is renamed.
fn put_in_place(parts: Parts) -> Result<(), Error> {
    let index = parts.index.as_ref().map(|index| index.path().to_path_buf());
    let mut new = Vec::new();
    let shards = parts.shards.into_iter().try_for_each(|shard| put_shard(shard, &mut new));
    let are_placed = shards.is_ok();
    let outcome = shards.and_then(|()| parts.index.map_or(Ok(()), Closed::finish));
    // An index that exists although the rename failed may be the new one, which names the new shards.
    let is_there = || index.is_some_and(|index| !matches!(index.try_exists(), Ok(false)));
    if outcome.is_err() && !(are_placed && is_there()) {
        new.iter().for_each(|path| drop(fs::remove_file(path)));
    }
    outcome
}

/// Adds the shard to `new` if certainly no file existed before.
fn put_shard(shard: Closed, new: &mut Vec<PathBuf>) -> Result<(), Error> {
    let path = shard.path();
    new.extend(matches!(path.try_exists(), Ok(false)).then(|| path.to_path_buf()));
    shard.finish()
}
