//! What is said about every file: that it is sound, what is wrong with it, or why it was not judged.

use crate::exit::Exit;
use crate::failure::{Failure, NotRead};
use crate::json::Object;
use crate::output::complain;
use crate::report::Report;
use crate::source::Source;
use crate::text;
use embedded_safetensors::Summary;
use std::io::{self, Write};
use std::path::Path;

pub enum Verdict {
    Sound(Summary),
    Unsound(Report),
    NotRead(NotRead),
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
        }
    }

    /// One line, and below it the place in the header where something is wrong.
    pub fn print(&self, file: &Path) -> io::Result<()> {
        let mut out = io::stdout().lock();
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
        }
    }

    /// One JSON object.
    pub fn print_json(&self, file: &Path) -> io::Result<()> {
        writeln!(io::stdout(), "{}", self.json(file))
    }

    fn json(&self, file: &Path) -> String {
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
        }
        .end()
    }
}

fn file_len(summary: &Summary) -> u64 {
    summary.data_start + summary.data_len
}
