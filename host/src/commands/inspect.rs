//! `safetensors inspect`: shows the contents of a header.

use crate::args::remote::is_remote;
use crate::commands::{Files, Run};
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::model::{file_of, is_sharded};
use crate::input::source::{Data, Source};
use crate::input::validation::open_valid;
use crate::json;
use crate::print::decoding::{Extra, Trouble, print_metadata, print_tensors};
use crate::print::diagnostic::say;
use crate::print::facts::Facts;
use crate::print::overview::View;
use crate::print::parameters::Unpacked;
use crate::print::rows::each_row;
use crate::print::verdict::{self, Sound};
use crate::print::{dump, listing, overview, structure};
use embedded_safetensors::{header::MAX_HEADER_LEN, index::IndexedTensor, validate::Summary};
use safetensors_remote::parameters::Entry;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Show the tensors, the metadata and the memory needs of files
///
/// Reads the header of each file and no tensor data. Exit code: 2 if at least one cannot be read, otherwise
/// 1 if at least one is invalid, otherwise 0.
#[derive(clap::Args)]
pub struct Inspect {
    #[command(flatten)]
    files: Files,

    #[command(flatten)]
    view: View,
}

impl Run for Inspect {
    fn json(&self) -> bool {
        self.files.json()
    }

    fn run(self, context: &Context) -> Outcome {
        self.view.check()?;
        self.files.each(|file, json| inspect(context, file, json, &self.view))
    }
}

/// Headers up to this length are listed in memory, which is faster. One of a server is in memory anyway.
fn listed(file: &Path) -> u64 {
    if is_remote(file) { MAX_HEADER_LEN + 8 } else { 16 << 20 }
}

fn inspect(context: &Context, file: &Path, json: bool, view: &View) -> io::Result<Exit> {
    let found = file_of(file).and_then(|place| Ok((is_sharded(context, &place)?, place)));
    let (is_sharded, place) = match found {
        Ok(found) => found,
        Err(error) => return verdict::print(&Err(error), file, json),
    };
    if is_sharded || !view.is_plain() {
        return overview::inspect(context, file, json, view).map_err(|error| say(&error, json)).or_else(Ok);
    }
    let (mut source, (summary, index)) = match open_valid(context, &place, listed(&place), Data::Count) {
        Ok(sound) => sound,
        Err(error) => return verdict::print(&Err(error), file, json),
    };
    if !json {
        Sound::from(summary).write(file, &mut io::stdout().lock())?;
    }
    let listing: Option<Vec<IndexedTensor<'_>>> =
        index.as_ref().map(|index| index.in_header_order().collect());
    let entries = listing.iter().map(|listing| listing.iter().map(|&tensor| Entry::of(tensor)).collect());
    let unpacked = Unpacked::of(context, file, &entries.collect::<Vec<_>>());
    let mut out = BufWriter::with_capacity(1 << 18, io::stdout().lock());
    let printed = if json {
        print_json(&mut source, &summary, (listing.as_deref(), &unpacked), file, &mut out)
    } else {
        let printed = listing::print(&mut source, &summary, listing.as_deref(), &mut out);
        unpacked.print(file, &mut out)?;
        printed
    };
    out.flush()?;
    // If this fails, the lines printed so far may come from two versions of the file.
    match printed.and_then(|()| source.check_unchanged().map_err(Trouble::Read)) {
        Ok(()) => Ok(Exit::Good),
        Err(Trouble::Write(error)) => Err(error),
        Err(Trouble::Read(reason)) => verdict::print(&Err(Error::not_read(file, reason)), file, json),
    }
}

fn print_json(
    source: &mut Source,
    summary: &Summary,
    shown: (Option<&[IndexedTensor<'_>]>, &Unpacked),
    file: &Path,
    out: &mut impl Write,
) -> Result<(), Trouble> {
    let printed = print_object(source, summary, shown, file, out);
    // After an error too: the error object goes on its own line.
    writeln!(out)?;
    printed
}

/// The length from `check --json`, the members of `decode` without digests, and the facts.
fn print_object(
    source: &mut Source,
    summary: &Summary,
    (listing, unpacked): (Option<&[IndexedTensor<'_>]>, &Unpacked),
    file: &Path,
    out: &mut impl Write,
) -> Result<(), Trouble> {
    let Summary { data_start, data_len, .. } = *summary;
    let unpacked = unpacked.members().into_iter().map(|(name, value)| format!(",\"{name}\":{value}"));
    let unpacked: String = unpacked.collect();
    let file = json::quoted(&file.to_string_lossy());
    let bytes = data_start + data_len;
    write!(out, "{{\"file\":{file},\"ok\":true,\"bytes\":{bytes},\"data_start\":{data_start},")?;
    let mut facts = Facts::new(summary, 2);
    match listing {
        Some(listing) => {
            dump::tensors(listing, data_start, out)?;
            if print_metadata(source, out)? {
                structure::print_json(source, listing, out)?;
            }
            listing.iter().for_each(|tensor| facts.add(&(*tensor).into()));
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
    Ok(write!(
        out,
        ",\"header\":{{\"bytes\":{},\"room\":{room}}},{}{}}}",
        data_start - 8,
        dump::facts(&facts),
        unpacked
    )?)
}
