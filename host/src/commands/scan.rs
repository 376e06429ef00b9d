//! `safetensors scan`: what the pickles of a file would import and call.

use crate::commands::{Run, check_stdin_once};
use crate::context::Context;
use crate::error::not_read::NotRead;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::open::open_file;
use crate::input::walk::{PICKLES, expand_to};
use crate::json::{self, Object, array, write_items};
use crate::output::stdout::complain;
use crate::print::diagnostic::text;
use crate::scan::{Pickles, scan_file};
use crate::table::{Side, print_long};
use crate::text::{counted, grouped, quoted, shown_text};
use safetensors_convert::pickle::{Finding, Use};
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
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
    fn json(&self) -> bool {
        self.json
    }

    fn run(self, _: &Context) -> Outcome {
        check_stdin_once(&self.files)?;
        let mut worst = Exit::Good;
        for (file, found) in self.files.iter().flat_map(|file| expand_to(file, &PICKLES)) {
            let judged = judge(&file, found);
            if self.json { judged.print_json(&file) } else { judged.print(&file, self.all) }?;
            worst = worst.max(judged.exit());
        }
        Ok(worst)
    }
}

fn judge(path: &Path, found: Result<(), NotRead>) -> Judged {
    let not_read = |reason: NotRead| Judged::Failed(Error::not_read(path, reason));
    let file = match found.and_then(|()| opened(path)) {
        Ok(file) => file,
        Err(reason) => return not_read(reason),
    };
    match scan_file(path, &file) {
        Ok(all) => Judged::Scanned(all),
        Err(error) => Judged::Failed(Error::of_contents(path, "pickle", error)),
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

/// What is known about a file.
pub enum Judged {
    Scanned(Vec<Pickles>),
    Failed(Error),
}

impl Judged {
    pub fn exit(&self) -> Exit {
        match self {
            Self::Failed(complaint) => complaint.exit(),
            Self::Scanned(all) if all.iter().any(exceeds_limit) => Exit::Failed,
            Self::Scanned(all) if all.iter().all(|pickles| pickles.scan.is_listed()) => Exit::Good,
            Self::Scanned(_) => Exit::Bad,
        }
    }

    /// Prints a line, and one for each use that is not on the list, or for each use.
    ///
    /// # Errors
    /// Those of standard output.
    pub fn print(&self, file: &Path, every: bool) -> io::Result<()> {
        let all = match self {
            Self::Failed(complaint) if complaint.exit() == Exit::Bad => {
                return writeln!(io::stdout(), "{}", text(complaint));
            }
            Self::Failed(complaint) => {
                complain(text(complaint));
                return Ok(());
            }
            Self::Scanned(all) => all,
        };
        let mut out = BufWriter::new(io::stdout().lock());
        writeln!(out, "{}: {}", shown_text(&file.to_string_lossy()), verdict(all))?;
        print_findings(all, every, &mut out)?;
        for Pickles { entry, scan, .. } in all {
            if let Some(problem) = &scan.problem {
                let place = if entry.is_empty() { String::new() } else { format!("{}: ", place(entry)) };
                writeln!(out, "  {place}{}", shown_text(&problem.sentence))?;
            }
        }
        out.flush()
    }

    /// Prints one object.
    ///
    /// # Errors
    /// Those of standard output.
    pub fn print_json(&self, file: &Path) -> io::Result<()> {
        let mut out = BufWriter::new(io::stdout().lock());
        match self {
            Self::Failed(error) => {
                json::print(&mut out, error)?;
                return out.flush();
            }
            Self::Scanned(all) => {
                let object = Object::new().text("file", &file.to_string_lossy());
                let object = object.flag("ok", self.exit() == Exit::Good);
                out.write_all(object.open_array("pickles").as_bytes())?;
                write_items(&mut out, all, write_pickles)?;
            }
        }
        out.write_all(b"\n")?;
        out.flush()
    }
}

fn exceeds_limit(pickles: &Pickles) -> bool {
    pickles.scan.problem.as_ref().is_some_and(|problem| problem.is_limit)
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
    let count = findings(all).count() as u64;
    let unlisted = findings(all).filter(|(_, finding)| !finding.is_listed).count() as u64;
    // An incomplete pickle is counted only if it is the only one in its place, and something was found in it.
    let pickles: u64 =
        all.iter().map(|Pickles { scan, .. }| scan.pickles.max(u64::from(!scan.findings.is_empty()))).sum();
    let (pickles, uses, bad) = (counted(pickles, "pickle"), counted(count, "use"), grouped(unlisted));
    match (unlisted, all.iter().any(|pickles| pickles.scan.problem.is_some())) {
        (0, false) if count == 0 => format!("ok, {pickles}, no import"),
        (0, false) => format!("ok, {pickles}, {uses} of names, all on the closed list"),
        (0, true) => format!("not scanned completely, {pickles}, {uses} of names on the closed list"),
        (_, false) => format!("not allowed, {pickles}, {bad} of {uses} of names not on the closed list"),
        (_, true) => format!(
            "not allowed, {pickles}, {bad} of {uses} of names not on the closed list, not scanned completely"
        ),
    }
}

/// Prints the uses that are not on the list, or every use, if there are any.
fn print_findings(all: &[Pickles], every: bool, out: &mut impl Write) -> io::Result<()> {
    let shown = || findings(all).filter(|(_, finding)| every || !finding.is_listed);
    if shown().next().is_none() {
        return Ok(());
    }
    let has_entries = all.iter().any(|pickles| !pickles.entry.is_empty());
    let mut titles = vec![
        ("what", Side::Left),
        ("name", Side::Left),
        ("opcode", Side::Left),
        ("byte", Side::Right),
        ("times", Side::Right),
    ];
    titles.extend(every.then_some(("listed", Side::Left)));
    titles.extend(has_entries.then_some(("entry", Side::Left)));
    let row = |(pickles, finding): (&Pickles, &Finding)| {
        let listed = if finding.is_listed { "yes" } else { "no" };
        let mut row = vec![
            what(finding.used).1.to_owned(),
            finding.name.as_ref().map_or("?".to_owned(), |name| dotted(&name.module, &name.name)),
            finding.code.name().to_owned(),
            (pickles.begin + finding.at).to_string(),
            finding.count.to_string(),
        ];
        row.extend(every.then(|| listed.to_owned()));
        row.extend(has_entries.then(|| place(&pickles.entry)));
        row
    };
    print_long(&titles, || shown().map(row), out)
}

/// A name as Python spells it, safe for a terminal.
fn dotted(module: &str, name: &str) -> String {
    shown_text(&format!("{module}.{name}"))
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

fn write_pickles(out: &mut dyn Write, pickles: &Pickles) -> io::Result<()> {
    let Pickles { entry, begin, scan } = pickles;
    let entry = array(entry.iter().map(|name| json::quoted(name)));
    let object = Object::new().raw("entry", &entry).number("begin", *begin).number("count", scan.pickles);
    let object = match &scan.problem {
        Some(problem) => {
            let object_of = Object::new().number("at", begin + problem.at).flag("limit", problem.is_limit);
            object.raw("problem", &object_of.text("message", &problem.sentence).end())
        }
        None => object.raw("problem", "null"),
    };
    out.write_all(object.open_array("findings").as_bytes())?;
    write_items(out, &scan.findings, |out, finding| write_finding(out, finding, *begin))
}

fn write_finding(out: &mut dyn Write, finding: &Finding, begin: u64) -> io::Result<()> {
    let object = Object::new().text("use", what(finding.used).0).text("opcode", finding.code.name());
    let object = match &finding.name {
        Some(name) => object.text("module", &name.module).text("name", &name.name),
        None => object.raw("module", "null").raw("name", "null"),
    };
    let object = object.flag("listed", finding.is_listed).number("at", begin + finding.at);
    let object = object.number("pickle", finding.pickle).number("times", finding.count);
    out.write_all(object.end().as_bytes())
}
