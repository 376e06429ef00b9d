//! The verdict on a file: valid, invalid with the reason, or not validated.

use crate::complaint::Complaint;
use crate::exit::Exit;
use crate::json::Object;
use crate::model::Model;
use crate::output::complain;
use crate::text::{counted, numbered, shown_text};
use embedded_safetensors::validate::Summary;
use std::io::{self, Write};
use std::path::Path;

pub enum Verdict {
    Valid(Summary),
    /// A sharded model, by its index.
    Shards {
        shards: u64,
        tensors: u64,
        bytes: u64,
    },
    /// The reason why it is invalid or was not validated.
    Other(Complaint),
}

impl Verdict {
    pub fn exit(&self) -> Exit {
        match self {
            Self::Valid(_) | Self::Shards { .. } => Exit::Good,
            Self::Other(complaint) => complaint.exit(),
        }
    }

    /// Validates the model of an index: the index and all its files, separately and against each other.
    pub fn of_index(path: &Path) -> Self {
        match Model::open(path) {
            Ok(model) => {
                let (shards, tensors) = (model.parts().len() as u64, model.tensors().count() as u64);
                Self::Shards { shards, tensors, bytes: model.file_lens() }
            }
            Err(complaint) => Self::Other(complaint),
        }
    }

    /// Prints one line, and the excerpt of the header if there is an error.
    pub fn print(&self, file: &Path) -> io::Result<()> {
        self.write(file, numbered, &mut io::stdout().lock())
    }

    /// Prints the same with separators in the numbers, as `inspect` prints all other sizes.
    pub fn print_grouped(&self, file: &Path) -> io::Result<()> {
        self.write_grouped(file, &mut io::stdout().lock())
    }

    /// Writes the same with separators in the numbers.
    pub fn write_grouped(&self, file: &Path, out: &mut impl Write) -> io::Result<()> {
        self.write(file, counted, out)
    }

    fn write(&self, file: &Path, count: fn(u64, &str) -> String, out: &mut impl Write) -> io::Result<()> {
        let file = shown_text(&file.to_string_lossy());
        match self {
            Self::Valid(summary) => {
                let (tensors, bytes) = (count(summary.tensors, "tensor"), count(summary.file_len(), "byte"));
                writeln!(out, "{file}: ok, {tensors}, {bytes}")
            }
            Self::Shards { shards, tensors, bytes } => {
                let (tensors, shards) = (count(*tensors, "tensor"), count(*shards, "shard"));
                writeln!(out, "{file}: ok, {tensors} in {shards}, {}", count(*bytes, "byte"))
            }
            Self::Other(complaint) if complaint.exit() == Exit::Bad => writeln!(out, "{}", complaint.line()),
            Self::Other(complaint) => {
                complain(complaint.line());
                Ok(())
            }
        }
    }

    /// Prints one JSON object.
    pub fn print_json(&self, file: &Path) -> io::Result<()> {
        writeln!(io::stdout(), "{}", self.json(file))
    }

    fn json(&self, file: &Path) -> String {
        let object = Object::new().text("file", &file.to_string_lossy()).flag("ok", true);
        match self {
            Self::Valid(summary) => {
                object.number("tensors", summary.tensors).number("bytes", summary.file_len()).end()
            }
            Self::Shards { shards, tensors, bytes } => {
                let object = object.number("tensors", *tensors);
                object.number("shards", *shards).number("bytes", *bytes).end()
            }
            Self::Other(complaint) => complaint.json(),
        }
    }
}
