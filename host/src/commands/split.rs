//! `safetensors split`: a model in several files, with an index.

use crate::commands::Run;
use crate::complaint::{Complaint, Outcome};
use crate::exit::Exit;
use crate::former::Former;
use crate::json::{self, Object};
use crate::model::Model;
use crate::pack::{Contents, Layout, Prefer, write};
use crate::product::{Closed, Product, may_be_made};
use crate::same::{not_of_the_model, not_the_input};
use crate::siblings::must_be_whole;
use crate::text::{numbered, quoted, shown_text};
use crate::work::Work;
use safetensors_files::shards::{PlannedShard, ShardPlan, parse_shard_size};
use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Split a model into files of a given size, as the Python package huggingface_hub does it.
///
/// Nothing is there before everything is. Exit code: 0 if the files are there, 1 if the model is not sound, 2 if they
/// cannot be made, 130 if it was stopped.
#[derive(clap::Args)]
pub struct Split {
    /// The model: a file, an index of shards, or `-` for standard input
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// The folder to write into, which is made if it is not there
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,

    /// How many bytes of tensors a file has at most: a number with KB, MB, GB, TB, KiB, MiB, GiB, TiB or nothing
    #[arg(long, value_name = "SIZE", default_value = "5GB", value_parser = size)]
    max_size: u64,

    /// What the files are called, before their numbers
    #[arg(long, value_name = "NAME", default_value = "model")]
    name: String,

    /// Replace the model of that name that is in the folder: files of it that the new one has not are removed
    #[arg(long)]
    force: bool,

    /// Print what was done as one JSON object
    #[arg(long)]
    json: bool,
}

/// Binary units are ours, all else is as `huggingface_hub` has it.
fn size(text: &str) -> Result<u64, String> {
    let units = [("KIB", 10), ("MIB", 20), ("GIB", 30), ("TIB", 40)];
    let upper = text.trim().to_ascii_uppercase();
    let binary = units.iter().find_map(|(unit, log)| Some((upper.strip_suffix(unit)?.trim(), 1_u64 << log)));
    let bytes = match binary {
        Some((number, unit)) => number.parse().ok().and_then(|number: u64| number.checked_mul(unit)),
        None => parse_shard_size(text),
    };
    bytes.filter(|&bytes| bytes > 0).ok_or_else(|| "it is no size, as 5GB or 512MiB are".into())
}

impl Run for Split {
    fn json(&self) -> bool {
        self.json
    }

    fn run(self) -> Outcome {
        if self.name.is_empty() || self.name.contains(['/', '\\']) {
            return Err(Complaint::usage(format!("{} is no name of a file", quoted(&self.name))));
        }
        must_be_whole(std::slice::from_ref(&self.model), None)?;
        let models = [Model::open(&self.model)?];
        let contents = Contents::of(&models, Some(Prefer::First))?;
        let tensors = contents.entries.iter().map(|entry| (entry.name.as_str(), entry.tensor.byte_len()));
        let plan = ShardPlan::new(self.name.as_str(), tensors, self.max_size);
        let former = self.check_places(&plan, &models[0])?;
        let folder = Folder::make(&self.output)?;
        let products = self.write(&plan, &contents)?;
        models[0].check_unchanged()?;
        Work::check()?;
        put_in_place(products)?;
        folder.keep();
        former.remove()?;
        self.tell(&plan, &contents)?;
        Ok(Exit::Good)
    }
}

/// Files that are whole, and wait for their names.
struct Parts {
    shards: Vec<Closed>,
    index: Option<Closed>,
}

impl Split {
    fn path(&self, shard: PlannedShard<'_>) -> PathBuf {
        self.output.join(shard.file_name())
    }

    fn check_places(&self, plan: &ShardPlan, model: &Model) -> Result<Former, Complaint> {
        let shards: Vec<PathBuf> = plan.shards().map(|shard| self.path(shard)).collect();
        let (index, whole) = (self.output.join(plan.index_name()), self.whole());
        let former = Former::of(&self.output, &self.name, &shards, plan.is_sharded())?;
        for path in shards.iter().chain([&index, &whole]) {
            may_be_made(path, self.force)?;
            if path.is_symlink() {
                return Err(Complaint::about(path, "is a link, and what it leads to may be another model's"));
            }
        }
        for path in shards.iter().chain([&index]).chain(former.files()) {
            not_the_input(model.path(), path)?;
            not_of_the_model(model, path)?;
        }
        Ok(former)
    }

    /// Where the model would be in one file, which readers prefer to an index.
    fn whole(&self) -> PathBuf {
        self.output.join(format!("{}.safetensors", self.name))
    }

    /// All files, none of which shows yet.
    fn write(&self, plan: &ShardPlan, contents: &Contents<'_>) -> Result<Parts, Complaint> {
        let work = Work::new("splitting", contents.bytes());
        let by_name: HashMap<_, _> =
            contents.entries.iter().map(|entry| (entry.name.as_str(), entry)).collect();
        let mut shards = Vec::new();
        for shard in plan.shards() {
            let entries = shard.tensors().iter().filter_map(|name| by_name.get(name.as_str()));
            let entries = entries.map(|&entry| entry.clone()).collect();
            let part = Contents { entries, metadata: contents.metadata.clone(), ..Contents::default() };
            let path = self.path(shard);
            let mut product = Product::create(&path, self.force)?;
            write(&part, Layout::USUAL, (&mut product, &path), &work)?;
            shards.push(product.close()?);
        }
        let mut index = None;
        if plan.is_sharded() {
            let path = self.output.join(plan.index_name());
            let mut product = Product::create(&path, self.force)?;
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
            let object = Object::new().flag("ok", true).text("output", &folder).raw("index", &index);
            let object = object.number("tensors", contents.entries.len() as u64);
            let object = object.number("padding_left_out", contents.padding.tensors);
            let object = object.number("total_size", plan.total_size());
            return writeln!(io::stdout(), "{}", object.raw("shards", &json::array(shards)).end());
        }
        let mut out = io::stdout().lock();
        for shard in plan.shards() {
            let (path, tensors) = (self.path(shard), numbered(shard.tensors().len() as u64, "tensor"));
            let path = shown_text(&path.to_string_lossy());
            writeln!(out, "{path}: {tensors}, {} bytes of data", shard.byte_len())?;
        }
        if plan.is_sharded() {
            let path = self.output.join(plan.index_name());
            writeln!(out, "{}: the index", shown_text(&path.to_string_lossy()))?;
        }
        contents.padding.print(&mut out)
    }
}

/// Names the shards, then the index, which is the moment at which the new model takes the place of an old one.
fn put_in_place(parts: Parts) -> Result<(), Complaint> {
    let index = parts.index.as_ref().map(|index| index.path().to_path_buf());
    let mut new = Vec::new();
    let shards = parts.shards.into_iter().try_for_each(|shard| put_shard(shard, &mut new));
    let are_placed = shards.is_ok();
    let outcome = shards.and_then(|()| parts.index.map_or(Ok(()), Closed::finish));
    // An index that is there although it failed may be the new one, which leads to the new shards.
    let is_there = || index.is_some_and(|index| !matches!(index.try_exists(), Ok(false)));
    if outcome.is_err() && !(are_placed && is_there()) {
        new.iter().for_each(|path| drop(fs::remove_file(path)));
    }
    outcome
}

/// Notes in `new` where surely no file was before.
fn put_shard(shard: Closed, new: &mut Vec<PathBuf>) -> Result<(), Complaint> {
    let path = shard.path();
    new.extend(matches!(path.try_exists(), Ok(false)).then(|| path.to_path_buf()));
    shard.finish()
}

/// A folder that goes again, if it was made for nothing.
struct Folder<'p> {
    path: &'p Path,
    made: bool,
}

impl<'p> Folder<'p> {
    fn make(path: &'p Path) -> Result<Self, Complaint> {
        match fs::create_dir(path) {
            Ok(()) => Ok(Self { path, made: true }),
            Err(_) if path.is_dir() => Ok(Self { path, made: false }),
            Err(error) => Err(Complaint::cannot_write(path, &error)),
        }
    }

    fn keep(mut self) {
        self.made = false;
    }
}

impl Drop for Folder<'_> {
    fn drop(&mut self) {
        if self.made {
            // Only where nothing is in it.
            let _ = fs::remove_dir(self.path);
        }
    }
}
