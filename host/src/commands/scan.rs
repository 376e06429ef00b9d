//! `safetensors scan`: what the pickles of a file would import and call.

use super::{Context, Error, Exit, Outcome, Run, check_stdin_once};
use crate::convert::foreign_error;
use crate::error::not_read::NotRead;
use crate::input::foreign::{Readable, readable_format};
use crate::input::open::open_file;
use crate::input::walk::{PICKLES, expand};
use crate::json::{List, about, object};
use crate::output::stdout::show;
use crate::print::verdict;
use crate::scan::{Pickles, scan_file};
use crate::table::{Side, Table};
use crate::text::terminal::Stream;
use crate::text::{counted, grouped, quoted, shown_path, shown_text};
use safetensors_convert::onnx::Onnx;
use safetensors_convert::pickle::{Finding, Use};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

/// Show what the pickles in files would import and call, and whether `convert` allows it
///
/// Nothing is executed or imported. Pickles are files, entries of zip archives (also in one another), and
/// arrays of Python objects. In a directory, scans all files below it with the suffix of a format that may
/// have pickles. Exit code: 2 if at least one file cannot be scanned, otherwise 1 if at least one is damaged
/// or has something that is not on the closed list, otherwise 0.
#[derive(clap::Args)]
pub struct Scan {
    /// Show all that is imported and called, not only what is not on the list
    #[arg(long)]
    all: bool,

    /// Print one JSON object per file
    #[arg(long)]
    json: bool,

    /// Files or directories to scan; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Run for Scan {
    fn run(self, _: &Context) -> Outcome {
        check_stdin_once(&self.files)?;
        let mut worst = Exit::Good;
        for (file, found) in self.files.iter().flat_map(|file| expand(file, &PICKLES)) {
            let scanned = scanned(&file, found);
            let exit = scanned.as_ref().map_or_else(Error::exit, |(all, _)| exit(all));
            self.print(&file, &scanned, exit)?;
            worst = worst.max(exit);
        }
        Ok(worst)
    }
}

impl Scan {
    fn print(&self, file: &Path, scanned: &Result<Scanned, Error>, exit: Exit) -> io::Result<()> {
        match scanned {
            Ok((all, data_files)) => {
                let names = (!data_files.is_empty()).then(|| object! { data_files: List(data_files.iter()) });
                let more = object! { pickles: List(all.iter().map(in_json)), #[serde(flatten)] names: names };
                show(self.json, &about(file, exit == Exit::Good, more), |mut out| {
                    self.print_text(file, all, &mut out)?;
                    data_files.iter().try_for_each(|name| writeln!(out, "  data file: {}", quoted(name)))
                })
            }
            Err(error) => verdict::print(Err(error), file, self.json).map(drop),
        }
    }

    /// Prints a line, and one for each use that is not on the list, or for each use.
    fn print_text(&self, file: &Path, all: &[Pickles], out: &mut impl Write) -> io::Result<()> {
        let verdict = verdict(all);
        let (word, numbers) = verdict.split_at(verdict.find(',').unwrap_or(verdict.len()));
        let word = if exit(all) == Exit::Good { Stream::Out.good(word) } else { Stream::Out.bad(word) };
        writeln!(out, "{}: {word}{numbers}", shown_path(file))?;
        let shown = || findings(all).filter(|(_, finding)| self.all || !finding.is_listed);
        if shown().next().is_some() {
            let has_entries = all.iter().any(|pickles| !pickles.entry.is_empty());
            let (left, right) = (Side::Left, Side::Right);
            let mut titles =
                vec![("what", left), ("name", left), ("opcode", left), ("byte", right), ("times", right)];
            titles.extend(self.all.then_some(("listed", left)));
            titles.extend(has_entries.then_some(("entry", left)));
            let row = |(pickles, finding): (&Pickles, &Finding)| {
                let name = finding.name.as_ref();
                let mut row = vec![
                    what(finding.used).1.to_owned(),
                    name.map_or("?".to_owned(), |of| shown_text(&format!("{}.{}", of.module, of.name))),
                    finding.code.name().to_owned(),
                    (pickles.begin + finding.at).to_string(),
                    finding.count.to_string(),
                ];
                row.extend(self.all.then(|| if finding.is_listed { "yes" } else { "no" }.to_owned()));
                row.extend(has_entries.then(|| place(&pickles.entry)));
                row
            };
            Table::new(titles).optional(&["opcode", "byte"]).print_rows(|| shown().map(row), out)?;
        }
        for Pickles { entry, scan, .. } in all {
            if let Some(problem) = &scan.problem {
                let place = if entry.is_empty() { String::new() } else { format!("{}: ", place(entry)) };
                writeln!(out, "  {place}{}", shown_text(&problem.sentence))?;
            }
        }
        Ok(())
    }
}

/// The pickles of a file, and the paths of the other files that a model of ONNX names.
type Scanned = (Vec<Pickles>, BTreeSet<String>);

fn scanned(path: &Path, found: Result<(), NotRead>) -> Result<Scanned, Error> {
    let file = found.and_then(|()| opened(path)).map_err(|reason| Error::not_read(path, reason))?;
    let pickles = scan_file(path, &file).map_err(|error| Error::of_contents(path, "pickle", error))?;
    let data_files = match readable_format(&file, path) {
        Ok(Some(Readable::Onnx)) => Onnx::data_files(&file),
        _ => Ok(BTreeSet::new()),
    };
    match data_files {
        Ok(data_files) => Ok((pickles, data_files)),
        // What is not allowed is shown, whatever the rest of the file is.
        Err(_) if findings(&pickles).any(|(_, finding)| !finding.is_listed) => Ok((pickles, BTreeSet::new())),
        Err(error) => Err(foreign_error(path, Readable::Onnx, error)),
    }
}

/// Opens a regular file, or copies standard input into an unnamed one.
fn opened(path: &Path) -> Result<File, NotRead> {
    if path.as_os_str() != "-" {
        return open_file(path).map(|(file, _)| file);
    }
    let copied = || {
        let mut copy = tempfile::tempfile()?;
        io::copy(&mut io::stdin().lock(), &mut copy)?;
        copy.rewind()?;
        Ok(copy)
    };
    copied().map_err(|error: io::Error| NotRead::not_buffered(&error, None))
}

fn exit(all: &[Pickles]) -> Exit {
    let mut problems = all.iter().filter_map(|pickles| pickles.scan.problem.as_ref());
    match all.iter().all(|pickles| pickles.scan.is_listed()) {
        _ if problems.any(|problem| problem.is_limit) => Exit::Failed,
        true => Exit::Good,
        false => Exit::Bad,
    }
}

fn findings(all: &[Pickles]) -> impl Iterator<Item = (&Pickles, &Finding)> {
    all.iter().flat_map(|pickles| pickles.scan.findings.iter().map(move |finding| (pickles, finding)))
}

/// The rest of the first line.
fn verdict(all: &[Pickles]) -> String {
    if all.is_empty() {
        return "ok, no pickle".to_owned();
    }
    if all.iter().all(|pickles| pickles.scan.is_nothing()) {
        return "not a pickle that can be read, nor an archive or a model".to_owned();
    }
    // An incomplete pickle is counted only if it is the only one in its place, and something was found in it.
    let pickles =
        all.iter().map(|Pickles { scan, .. }| scan.pickles.max(u64::from(!scan.findings.is_empty())));
    let pickles = counted(pickles.sum::<u64>(), "pickle");
    let count = findings(all).count() as u64;
    let (uses, is_whole) = (counted(count, "use"), all.iter().all(|pickles| pickles.scan.problem.is_none()));
    match findings(all).filter(|(_, finding)| !finding.is_listed).count() as u64 {
        0 if is_whole && count == 0 => format!("ok, {pickles}, no import"),
        0 if is_whole => format!("ok, {pickles}, {uses} of names, all on the closed list"),
        0 => format!("not scanned completely, {pickles}, {uses} of names on the closed list"),
        bad => {
            let (bad, end) = (grouped(bad), if is_whole { "" } else { ", not scanned completely" });
            format!("not allowed, {pickles}, {bad} of {uses} of names not on the closed list{end}")
        }
    }
}

/// An entry, and the archives that have it, from the inside.
fn place(entry: &[String]) -> String {
    entry.iter().rev().map(|name| quoted(name)).collect::<Vec<_>>().join(" in ")
}

/// The name of a use in JSON and in the table.
fn what(used: Use) -> (&'static str, &'static str) {
    match used {
        Use::Import => ("import", "imports"),
        Use::Call => ("call", "calls"),
        Use::State => ("state", "sets state"),
        Use::Extension => ("extension", "extension"),
        Use::PersistentId => ("persistent_id", "finds by id"),
    }
}

fn in_json(Pickles { entry, begin, scan }: &Pickles) -> impl Serialize {
    let problem = scan.problem.as_ref().map(|problem| {
        object! { at: begin + problem.at, limit: problem.is_limit, message: &problem.sentence }
    });
    let findings = scan.findings.iter().map(move |finding| {
        let name = finding.name.as_ref();
        object! {
            #[serde(rename = "use")] used: what(finding.used).0,
            opcode: finding.code.name(),
            module: name.map(|name| &name.module),
            name: name.map(|name| &name.name),
            listed: finding.is_listed,
            at: begin + finding.at,
            pickle: finding.pickle,
            times: finding.count,
        }
    });
    object! { entry, begin, count: scan.pickles, problem, findings: List(findings) }
}
