//! `safetensors join`: one file of a model in several.

use crate::commands::Run;
use crate::complaint::Outcome;
use crate::convert::Kind;
use crate::exit::Exit;
use crate::json::Object;
use crate::model::Model;
use crate::pack::{Contents, Layout, Prefer, write};
use crate::product::{Product, may_be_made, not_both_on_output};
use crate::same::{not_of_the_model, not_the_input};
use crate::siblings::must_be_whole;
use crate::text::{numbered, shown_text};
use crate::work::Work;
use std::io::{self, Write};
use std::path::PathBuf;

/// Join a model in several files into one.
///
/// The index and all shards are checked before anything is written. Exit code: 0 if the file is there, 1 if the
/// index or a shard is not sound or they do not agree, 2 if it cannot be made, 130 if it was stopped.
#[derive(clap::Args)]
pub struct Join {
    /// The index of the model, or the folder that it is in
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// The file to write; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Replace a file that is there
    #[arg(long)]
    force: bool,

    /// Print what was done as one JSON object
    #[arg(long)]
    json: bool,
}

impl Run for Join {
    fn json(&self) -> bool {
        self.json
    }

    fn run(self) -> Outcome {
        not_both_on_output(self.json, Some(&self.output))?;
        let is_file = self.output.as_os_str() != "-";
        if is_file {
            Kind::must_be_model(&self.output)?;
            may_be_made(&self.output, self.force)?;
        }
        must_be_whole(std::slice::from_ref(&self.model), None)?;
        let models = [Model::open(&self.model)?];
        let [model] = &models;
        if is_file {
            not_the_input(&self.model, &self.output)?;
            not_of_the_model(model, &self.output)?;
        }
        // Of several files the first counts, as for whoever opens the model.
        let contents = Contents::of(&models, Some(Prefer::First))?;
        let mut product = Product::create(&self.output, self.force)?;
        let work = Work::new("joining", contents.bytes());
        let bytes = write(&contents, Layout::USUAL, (&mut product, &self.output), &work)?;
        model.check_unchanged()?;
        Work::check()?;
        product.finish()?;
        match is_file {
            true => self.tell(&contents, model.parts().len(), bytes)?,
            // The file goes to standard output.
            false => contents.padding.print(&mut io::stderr())?,
        }
        Ok(Exit::Good)
    }
}

impl Join {
    fn tell(&self, contents: &Contents<'_>, shards: usize, bytes: u64) -> io::Result<()> {
        let (tensors, shards) = (contents.entries.len() as u64, shards as u64);
        let output = self.output.to_string_lossy();
        if self.json {
            let object = Object::new().flag("ok", true).text("output", &output);
            let object = object.number("tensors", tensors).number("shards", shards);
            let object = object.number("padding_left_out", contents.padding.tensors);
            return writeln!(io::stdout(), "{}", object.number("bytes", bytes).end());
        }
        let (tensors, files) = (numbered(tensors, "tensor"), numbered(shards, "file"));
        let mut out = io::stdout().lock();
        writeln!(out, "{}: {tensors} of {files}, {bytes} bytes", shown_text(&output))?;
        contents.padding.print(&mut out)
    }
}
