//! `safetensors inspect`: what stands in a file's header.

use crate::commands::{Files, Run};
use crate::complaint::Outcome;
use crate::decoding::{Trouble, print_members};
use crate::exit::Exit;
use crate::judge::judge;
use crate::open::open;
use crate::rows::{Needs, each_row};
use crate::source::{Data, Source};
use crate::verdict::Verdict;
use crate::{json, table};
use embedded_safetensors::Summary;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Show the tensors of files, their metadata keys, and the index that holds them on a microcontroller.
///
/// Reads the header of each file and no tensor. Exit code: 0 if all files are sound, 1 if at least
/// one is not, 2 if at least one could not be read.
#[derive(clap::Args)]
pub struct Inspect {
    #[command(flatten)]
    files: Files,
}

impl Run for Inspect {
    fn json(&self) -> bool {
        self.files.json()
    }

    fn run(self) -> Outcome {
        self.files.each(inspect)
    }
}

fn inspect(file: &Path, json: bool) -> io::Result<Exit> {
    let mut source = match open(file) {
        Ok(source) => source,
        Err(reason) => return say(&Verdict::NotRead(reason), file, json),
    };
    let judgement = judge(&mut source, Data::Count);
    let verdict = Verdict::new(&mut source, judgement);
    let printed = match &verdict {
        Verdict::Sound(summary) if json => print_json(&mut source, summary, file),
        Verdict::Sound(summary) => {
            verdict.print(file)?;
            print(&mut source, summary)
        }
        _ => return say(&verdict, file, json),
    };
    match printed {
        Ok(()) => Ok(Exit::Good),
        Err(Trouble::Write(error)) => Err(error),
        Err(Trouble::Read(reason)) => say(&Verdict::NotRead(reason), file, json),
    }
}

fn say(verdict: &Verdict, file: &Path, json: bool) -> io::Result<Exit> {
    if json { verdict.print_json(file) } else { verdict.print(file) }?;
    Ok(verdict.exit())
}

fn print(source: &mut Source, summary: &Summary) -> Result<(), Trouble> {
    let mut out = BufWriter::new(io::stdout().lock());
    table::print(source, summary, &mut out)?;
    out.flush()?;
    unchanged(source)
}

fn print_json(source: &mut Source, summary: &Summary, file: &Path) -> Result<(), Trouble> {
    let mut out = BufWriter::new(io::stdout().lock());
    let printed = print_object(source, summary, file, &mut out);
    // Even if it broke off: what follows is another line.
    writeln!(out)?;
    out.flush()?;
    printed?;
    unchanged(source)
}

/// The length of `check --json`, the members of `decode` without digests, and the index.
fn print_object(
    source: &mut Source,
    summary: &Summary,
    file: &Path,
    out: &mut impl Write,
) -> Result<(), Trouble> {
    let Summary { data_start, data_len, .. } = *summary;
    let file = json::quoted(&file.to_string_lossy());
    let bytes = data_start + data_len;
    write!(out, "{{\"file\":{file},\"ok\":true,\"bytes\":{bytes},\"data_start\":{data_start},")?;
    print_members(source, None, out)?;
    let mut needs = Needs::default();
    each_row(source, |row| {
        needs.add(row);
        Ok(())
    })?;
    let Needs { tensors, dims, name_bytes, longest_name, most_dims, out_of_order, .. } = needs;
    let numbers = format!("\"tensors\":{tensors},\"dims\":{dims},\"name_bytes\":{name_bytes}");
    write!(out, ",\"index\":{{{numbers},\"bytes\":{}}}", needs.bytes())?;
    let in_order = !out_of_order;
    Ok(write!(out, ",\"longest_name\":{longest_name},\"most_dims\":{most_dims},\"in_order\":{in_order}}}")?)
}

/// What is on the screen already may come from two files, if this fails.
fn unchanged(source: &Source) -> Result<(), Trouble> {
    source.check_unchanged().map_err(Trouble::Read)
}
