//! `safetensors join`: joins a sharded model into one file.

use crate::commands::Run;
use crate::context::Context;
use crate::error::Outcome;
use crate::exit::Exit;
use crate::input::discover::reject_partial_models;
use crate::input::model::Model;
use crate::json::Object;
use crate::output::model::NewModel;
use crate::output::overwrite::{check_not_in_model, check_not_input};
use crate::pack::{Contents, Layout, Prefer, write};
use crate::text::{counted, shown_text};
use std::io::{self, Write};
use std::path::PathBuf;

/// Join a sharded model into one file
///
/// The index and all shards are validated before anything is written. Exit code: 0 if the file is written,
/// 1 if the index or a shard is invalid or they disagree, 2 for all other errors, 130 if interrupted.
#[derive(clap::Args)]
pub struct Join {
    /// Index of the model, or the directory that contains it
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    #[command(flatten)]
    new: NewModel,
}

impl Run for Join {
    fn json(&self) -> bool {
        self.new.json
    }

    fn run(self, context: &Context) -> Outcome {
        self.new.check(None)?;
        reject_partial_models(std::slice::from_ref(&self.model), None)?;
        let models = [Model::open(context, &self.model)?];
        let [model] = &models;
        if self.new.is_file() {
            check_not_input(&self.model, &self.new.output)?;
            check_not_in_model(model, &self.new.output)?;
        }
        // The metadata of the first file counts, as when a model is opened.
        let contents = Contents::of(&models, Some(Prefer::First))?;
        let mut product = self.new.create(context)?;
        let work = context.work("joining", contents.bytes());
        let bytes = write(&contents, Layout::USUAL, (&mut product, &self.new.output), &work)?;
        model.check_unchanged()?;
        context.check()?;
        product.finish()?;
        match self.new.is_file() {
            true => self.tell(&contents, model.parts().len(), bytes)?,
            // The file went to standard output.
            false => contents.padding.print(&mut io::stderr())?,
        }
        Ok(Exit::Good)
    }
}

impl Join {
    fn tell(&self, contents: &Contents<'_>, shards: usize, bytes: u64) -> io::Result<()> {
        let (tensors, shards) = (contents.entries.len() as u64, shards as u64);
        let output = self.new.output.to_string_lossy();
        if self.new.json {
            let object = Object::new().text("file", &self.model.to_string_lossy()).flag("ok", true);
            let object = object.text("output", &output);
            let object = object.number("tensors", tensors).number("shards", shards);
            let object = object.number("padding_left_out", contents.padding.tensors);
            return writeln!(io::stdout(), "{}", object.number("bytes", bytes).end());
        }
        let (tensors, files) = (counted(tensors, "tensor"), counted(shards, "file"));
        let mut out = io::stdout().lock();
        writeln!(out, "{}: {tensors} of {files}, {}", shown_text(&output), counted(bytes, "byte"))?;
        contents.padding.print(&mut out)
    }
}
