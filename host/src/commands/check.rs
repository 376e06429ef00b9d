//! `safetensors check`: a verdict for every file.

use crate::exit::Exit;
use crate::failure::{Failure, NotRead};
use crate::judge::judge;
use crate::open::open;
use crate::output::{cannot_write, complain};
use crate::report::Report;
use crate::source::{Data, Source};
use crate::{json, text};
use embedded_safetensors::Summary;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Prove files sound, or show what is wrong with them.
///
/// Reads the header of each file and no tensor. Exit code: 0 if all files are sound, 1 if at least
/// one is not, 2 if at least one could not be read.
#[derive(clap::Args)]
pub struct Check {
    /// Print one JSON object per file
    #[arg(long)]
    json: bool,

    /// Files to check; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

enum Verdict {
    Sound(Summary),
    Unsound(Report),
    NotRead(NotRead),
}

impl Check {
    pub fn run(self) -> Exit {
        if self.files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
            complain("safetensors: standard input can be read only once, but `-` is given twice");
            return Exit::NotRead;
        }
        let mut worst = Exit::Sound;
        for file in &self.files {
            let verdict = Verdict::of(file);
            worst = worst.max(verdict.exit());
            let printed = if self.json { print_json(file, &verdict) } else { print(file, &verdict) };
            if let Err(error) = printed {
                return cannot_write(&error);
            }
        }
        worst
    }
}

impl Verdict {
    fn of(file: &Path) -> Self {
        match open(file) {
            Ok(mut source) => Self::of_source(&mut source),
            Err(reason) => Self::NotRead(reason),
        }
    }

    fn of_source(source: &mut Source) -> Self {
        match judge(source, Data::Count) {
            Ok(summary) => Self::Sound(summary),
            Err(Failure::Unsound(error)) => {
                Report::new(source, error).map_or_else(Self::NotRead, Self::Unsound)
            }
            Err(Failure::NotRead(reason)) => Self::NotRead(reason),
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Sound(_) => Exit::Sound,
            Self::Unsound(_) => Exit::Unsound,
            Self::NotRead(_) => Exit::NotRead,
        }
    }
}

fn print(file: &Path, verdict: &Verdict) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let file = text::shown_text(&file.to_string_lossy());
    match verdict {
        Verdict::Sound(summary) => {
            let plural = if summary.tensors == 1 { "" } else { "s" };
            writeln!(out, "{file}: ok, {} tensor{plural}, {} bytes", summary.tensors, file_len(summary))
        }
        Verdict::Unsound(report) => writeln!(out, "{file}: {report}"),
        Verdict::NotRead(reason) => {
            complain(format_args!("{file}: cannot be read: {reason}"));
            Ok(())
        }
    }
}

fn print_json(file: &Path, verdict: &Verdict) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let file = json::quoted(&file.to_string_lossy());
    match verdict {
        Verdict::Sound(summary) => {
            let (tensors, bytes) = (summary.tensors, file_len(summary));
            writeln!(out, "{{\"file\":{file},\"ok\":true,\"tensors\":{tensors},\"bytes\":{bytes}}}")
        }
        Verdict::Unsound(report) => writeln!(out, "{{\"file\":{file},\"ok\":false,{}}}", members(report)),
        Verdict::NotRead(reason) => {
            let message = json::quoted(&reason.to_string());
            writeln!(out, "{{\"file\":{file},\"ok\":false,\"error\":\"io\",\"message\":{message}}}")
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
