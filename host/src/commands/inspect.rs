//! `safetensors inspect`: what stands in a file's header.

use crate::commands::{Files, Run};
use crate::complaint::Outcome;
use crate::decoding::{Extra, Trouble, print_metadata, print_tensors};
use crate::exit::Exit;
use crate::facts::Facts;
use crate::failure::Failure;
use crate::judge::judge;
use crate::model::is_sharded;
use crate::open::open;
use crate::parallel::both;
use crate::rows::{Listing, each_row};
use crate::source::{Data, Source};
use crate::verdict::Verdict;
use crate::{dump, json, sharded, table};
use embedded_safetensors::validate::Summary;
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

/// A header of up to this length is held, and shown as fast as it can be.
const HELD: u64 = 16 << 20;

fn inspect(file: &Path, json: bool) -> io::Result<Exit> {
    if is_sharded(file) {
        return sharded::inspect(file, json).map_err(|complaint| complaint.say(json)).or_else(Ok);
    }
    let mut source = match open(file) {
        Ok(source) => source,
        Err(reason) => return say(&Verdict::NotRead(reason), file, json),
    };
    let held = source.hold(HELD);
    let header = source.header();
    let list = || header.as_deref().and_then(|header| Listing::of(header));
    // What is listed counts only if the header is sound.
    let (listing, judgement) =
        both(list, || held.map_err(Failure::from).and_then(|()| judge(&mut source, Data::Count)));
    let verdict = Verdict::new(&mut source, judgement);
    let Verdict::Sound(summary) = &verdict else { return say(&verdict, file, json) };
    if !json {
        verdict.print(file)?;
    }
    let mut out = BufWriter::with_capacity(1 << 18, io::stdout().lock());
    let printed = if json {
        print_json(&mut source, summary, listing.as_ref(), file, &mut out)
    } else {
        table::print(&mut source, summary, listing.as_ref(), &mut out)
    };
    out.flush()?;
    // What is on the screen already may come from two files, if this fails.
    match printed.and_then(|()| source.check_unchanged().map_err(Trouble::Read)) {
        Ok(()) => Ok(Exit::Good),
        Err(Trouble::Write(error)) => Err(error),
        Err(Trouble::Read(reason)) => say(&Verdict::NotRead(reason), file, json),
    }
}

fn say(verdict: &Verdict, file: &Path, json: bool) -> io::Result<Exit> {
    if json { verdict.print_json(file) } else { verdict.print(file) }?;
    Ok(verdict.exit())
}

fn print_json(
    source: &mut Source,
    summary: &Summary,
    listing: Option<&Listing>,
    file: &Path,
    out: &mut impl Write,
) -> Result<(), Trouble> {
    let printed = print_object(source, summary, listing, file, out);
    // Even if it broke off: what follows is another line.
    writeln!(out)?;
    printed
}

/// The length of `check --json`, the members of `decode` without digests, and the facts.
fn print_object(
    source: &mut Source,
    summary: &Summary,
    listing: Option<&Listing>,
    file: &Path,
    out: &mut impl Write,
) -> Result<(), Trouble> {
    let Summary { data_start, data_len, .. } = *summary;
    let file = json::quoted(&file.to_string_lossy());
    let bytes = data_start + data_len;
    write!(out, "{{\"file\":{file},\"ok\":true,\"bytes\":{bytes},\"data_start\":{data_start},")?;
    let mut facts = Facts::new(summary, 2);
    match listing {
        Some(listing) => {
            dump::members(listing, data_start, out)?;
            listing.rows(0..listing.len()).for_each(|row| facts.add(&row));
        }
        None => {
            print_tensors(source, Extra::Alignment, data_start, out)?;
            print_metadata(source, out)?;
            each_row(source, |row| {
                facts.add(row);
                Ok(())
            })?;
        }
    }
    let room = source.header_room()?;
    Ok(write!(out, ",\"header\":{{\"bytes\":{},\"room\":{room}}},{}}}", data_start - 8, dump::facts(&facts))?)
}
