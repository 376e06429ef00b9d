//! What is said about every file: that it is sound, what is wrong with it, or why it was not judged.

use crate::exit::Exit;
use crate::failure::{Failure, NotRead};
use crate::output::complain;
use crate::report::Report;
use crate::source::Source;
use crate::{json, text};
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
            Self::Sound(_) => Exit::Sound,
            Self::Unsound(_) => Exit::Unsound,
            Self::NotRead(_) => Exit::NotRead,
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
        let mut out = io::stdout().lock();
        let file = json::quoted(&file.to_string_lossy());
        match self {
            Self::Sound(summary) => {
                let (tensors, bytes) = (summary.tensors, file_len(summary));
                writeln!(out, "{{\"file\":{file},\"ok\":true,\"tensors\":{tensors},\"bytes\":{bytes}}}")
            }
            Self::Unsound(report) => writeln!(out, "{{\"file\":{file},\"ok\":false,{}}}", members(report)),
            Self::NotRead(reason) => {
                let message = json::quoted(&reason.to_string());
                writeln!(out, "{{\"file\":{file},\"ok\":false,\"error\":\"io\",\"message\":{message}}}")
            }
        }
    }
}

fn members(report: &Report) -> String {
    let (code, at, message) = (report.code(), report.at(), json::quoted(&report.message()));
    let tensor = report.tensor().map(|name| format!(",\"tensor\":{}", json::quoted(name)));
    format!("\"code\":\"{code}\",\"at\":{at},\"message\":{message}{}", tensor.unwrap_or_default())
}

fn file_len(summary: &Summary) -> u64 {
    summary.data_start + summary.data_len
}
