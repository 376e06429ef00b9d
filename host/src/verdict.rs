//! What is said about every file: that it is sound, what is wrong with it, or why it was not judged.

use crate::complaint::Complaint;
use crate::exit::Exit;
use crate::failure::{Failure, NotRead};
use crate::json::Object;
use crate::model::Model;
use crate::output::complain;
use crate::report::Report;
use crate::source::Source;
use crate::text;
use embedded_safetensors::validate::Summary;
use std::io::{self, Write};
use std::path::Path;

pub enum Verdict {
    Sound(Summary),
    Unsound(Report),
    NotRead(NotRead),
    /// A model in several files, by its index.
    Shards {
        shards: u64,
        tensors: u64,
        bytes: u64,
    },
    /// What is wrong with one.
    Said(Complaint),
}

impl Verdict {
    /// The verdict on a file that has been judged.
    pub fn new(source: &mut Source, judgement: Result<Summary, Failure>) -> Self {
        match judgement {
            Ok(summary) => Self::Sound(summary),
            Err(Failure::Unsound(error)) => {
                Report::new(source, error).map_or_else(Self::NotRead, Self::Unsound)
            }
            Err(Failure::NotRead(reason)) => Self::NotRead(reason),
        }
    }

    pub fn exit(&self) -> Exit {
        match self {
            Self::Sound(_) => Exit::Good,
            Self::Unsound(_) => Exit::Bad,
            Self::NotRead(_) => Exit::Failed,
            Self::Shards { .. } => Exit::Good,
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
        let file = text::shown_text(&file.to_string_lossy());
        match self {
            Self::Sound(summary) => {
                let plural = if summary.tensors == 1 { "" } else { "s" };
                writeln!(out, "{file}: ok, {} tensor{plural}, {} bytes", summary.tensors, file_len(summary))
            }
            Self::Unsound(report) => writeln!(out, "{file}: {report}"),
            Self::NotRead(reason) => {
                complain(format_args!("{file}: cannot be read: {reason}"));
                Ok(())
            }
            Self::Shards { shards, tensors, bytes } => {
                let plural = |count| if count == 1 { "" } else { "s" };
                let (s, of) = (plural(*tensors), plural(*shards));
                writeln!(out, "{file}: ok, {tensors} tensor{s} in {shards} shard{of}, {bytes} bytes")
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
        if let Self::Said(complaint) = self {
            return complaint.json();
        }
        let object = Object::new().text("file", &file.to_string_lossy());
        match self {
            Self::Sound(summary) => {
                let object = object.flag("ok", true).number("tensors", summary.tensors);
                object.number("bytes", file_len(summary))
            }
            Self::Unsound(report) => report.members(object.flag("ok", false)),
            Self::NotRead(reason) => {
                object.flag("ok", false).text("error", "io").text("message", &reason.to_string())
            }
            Self::Shards { shards, tensors, bytes } => {
                let object = object.flag("ok", true).number("tensors", *tensors);
                object.number("shards", *shards).number("bytes", *bytes)
            }
            Self::Said(_) => object,
        }
        .end()
    }
}

fn file_len(summary: &Summary) -> u64 {
    summary.data_start + summary.data_len
}
