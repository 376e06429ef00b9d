//! `safetensors lint`: what is valid, but makes trouble somewhere.

use super::{Context, Exit, Files, Outcome, Run};
use crate::input::model::Model;
use crate::json::{List, about, object};
use crate::lint::{Code, Finding, Level, lint};
use crate::output::stdout::show;
use crate::text::terminal::Stream;
use crate::text::{counted, grouped, shown_path, shown_text};
use std::io::{self, Write};
use std::path::Path;

/// Find what is valid, but makes trouble for devices, frameworks or people
///
/// Alignment, names, order, text of the header, equal tensors. Exit code: 2 if at least one file cannot
/// be read, otherwise 1 if at least one has a warning or is invalid, otherwise 0. A note is no warning.
#[derive(clap::Args)]
pub struct Lint {
    #[command(flatten)]
    files: Files,

    /// Leave out findings of this code, such as `name.slash` (repeatable)
    #[arg(long, value_name = "CODE", hide_possible_values = true)]
    allow: Vec<Code>,
}

impl Run for Lint {
    fn run(self, context: &Context) -> Outcome {
        self.files.each(context, "inspect --only", |file, json| self.look(context, file, json))
    }
}

/// Lines of one code; the rest is counted.
const SHOWN: usize = 20;

impl Lint {
    fn look(&self, context: &Context, file: &Path, json: bool) -> Outcome {
        let model = Model::open(context, file)?;
        let found = lint(context, &model, &self.allow)?;
        let warnings = found.iter().filter(|finding| finding.code.level() == Level::Warning).count();
        let advice = |one: &Finding| one.advice(file, |name| model.find(name).is_some());
        let findings = found.iter().map(|one| object! { #[serde(flatten)] one, advice: advice(one) });
        let about = about(file, warnings == 0, object! { findings: List(findings) });
        show(json, &about, |out| print(file, &found, warnings, advice, out))?;
        Ok(if warnings > 0 { Exit::Bad } else { Exit::Good })
    }
}

fn print(
    path: &Path,
    found: &[Finding],
    warnings: usize,
    advice: impl Fn(&Finding) -> String,
    out: &mut dyn Write,
) -> io::Result<()> {
    let file = shown_path(path);
    for group in found.chunk_by(|one, other| one.code == other.code) {
        let (code, more) = (group[0].code, group.len().saturating_sub(SHOWN) as u64);
        for finding in group.iter().take(SHOWN) {
            let part = finding.file.as_ref().map_or(String::new(), |part| format!("/{}", shown_text(part)));
            let (level, at) = (format!("{}[{}]", code.level().name(), code.name()), finding.at);
            let is_warning = code.level() == Level::Warning;
            let level = if is_warning { Stream::Out.bad(&level) } else { Stream::Out.good(&level) };
            writeln!(out, "{file}{part}: {level} at byte {at}: {}", finding.sentence())?;
        }
        if more > 0 {
            writeln!(out, "    and {} more, which --json shows", grouped(more))?;
        }
        writeln!(out, "    {}", advice(&group[0]))?;
    }
    let notes = (found.len() - warnings) as u64;
    writeln!(out, "{file}: {}, {}", counted(warnings as u64, "warning"), counted(notes, "note"))
}
