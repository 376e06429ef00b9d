//! What is said about every file: that it is sound, what is wrong with it, or why it was not judged.

use crate::complaint::Complaint;
use crate::exit::Exit;
use crate::json::Object;
use crate::model::Model;
use crate::output::complain;
use crate::text::{numbered, shown_text};
use embedded_safetensors::validate::Summary;
use std::io::{self, Write};
use std::path::Path;

pub enum Verdict {
    Sound(Summary),
    /// A model in several files, by its index.
    Shards {
        shards: u64,
        tensors: u64,
        bytes: u64,
    },
    /// What is wrong with it, or why it was not judged.
    Said(Complaint),
}

impl Verdict {
    pub fn exit(&self) -> Exit {
        match self {
            Self::Sound(_) | Self::Shards { .. } => Exit::Good,
            Self::Said(complaint) => complaint.exit(),
        }
    }

    /// The verdict on the model that an index leads to: the index and all files that it names, each by itself and against each other.
    pub fn of_index(path: &Path) -> Self {
        match Model::open(path) {
            Ok(model) => {
                let (shards, tensors) = (model.parts().len() as u64, model.tensors().count() as u64);
                Self::Shards { shards, tensors, bytes: model.file_lens() }
            }
            Err(complaint) => Self::Said(complaint),
        }
    }

    /// One line, and below it the place in the header where something is wrong.
    pub fn print(&self, file: &Path) -> io::Result<()> {
        self.write(file, &mut io::stdout().lock())
    }

    pub fn write(&self, file: &Path, out: &mut impl Write) -> io::Result<()> {
        let file = shown_text(&file.to_string_lossy());
        match self {
            Self::Sound(summary) => {
                let tensors = numbered(summary.tensors, "tensor");
                writeln!(out, "{file}: ok, {tensors}, {} bytes", summary.file_len())
            }
            Self::Shards { shards, tensors, bytes } => {
                let (tensors, shards) = (numbered(*tensors, "tensor"), numbered(*shards, "shard"));
                writeln!(out, "{file}: ok, {tensors} in {shards}, {bytes} bytes")
            }
            Self::Said(complaint) if complaint.exit() == Exit::Bad => writeln!(out, "{}", complaint.line()),
            Self::Said(complaint) => {
                complain(complaint.line());
                Ok(())
            }
        }
    }

    /// One JSON object.
    pub fn print_json(&self, file: &Path) -> io::Result<()> {
        writeln!(io::stdout(), "{}", self.json(file))
    }

    fn json(&self, file: &Path) -> String {
        let object = Object::new().text("file", &file.to_string_lossy()).flag("ok", true);
        match self {
            Self::Sound(summary) => {
                object.number("tensors", summary.tensors).number("bytes", summary.file_len()).end()
            }
            Self::Shards { shards, tensors, bytes } => {
                let object = object.number("tensors", *tensors);
                object.number("shards", *shards).number("bytes", *bytes).end()
            }
            Self::Said(complaint) => complaint.json(),
        }
    }
}
