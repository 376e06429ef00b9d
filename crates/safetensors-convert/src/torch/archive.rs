//! The zip archives that PyTorch writes since 1.6.

use super::store::{Store, number_of};
use crate::error::{beyond_limit, unsound};
use crate::text::quoted;
use crate::zip::{Contents, Entry, check_ratio, entries_of, open_entry};
use std::fs::File;
use std::io::{self, Read};

/// The versions of the format.
const VERSIONS: std::ops::RangeInclusive<u32> = 1..=10;
/// The longest of the entries with a word or a number.
const SHORT: u64 = 64;

/// The parts of an archive.
#[derive(Debug)]
pub(super) struct Layout {
    pub store: Store,
    /// The name of the entry with the pickle.
    pub pickle_name: String,
    pub pickle: Contents,
    /// The common start of all names, with the slash.
    pub prefix: String,
    /// Whether the storages are big-endian.
    pub is_big: bool,
}

/// What an entry is.
enum Part {
    Pickle,
    Version,
    ByteOrder,
    Storage(u64),
    /// It says nothing about tensors.
    Unused,
}

/// Reads the list of an archive.
///
/// # Errors
/// It is not what PyTorch writes.
pub(super) fn layout(file: &File) -> io::Result<Layout> {
    let entries = entries_of(file, "a file of this format")?;
    if entries.len() > super::machine::MOST + 16 {
        return Err(beyond_limit(format!("the archive has {} entries, too many", entries.len())));
    }
    check_ratio(&entries, file.metadata()?.len())?;
    let prefix = prefix(&entries)?;
    let (mut storages, mut pickle, mut is_big) = (Vec::new(), None, false);
    for entry in entries {
        match part(&prefix, &entry)? {
            Part::Pickle => pickle = Some(entry),
            Part::Version => check_version(file, &entry)?,
            Part::ByteOrder => is_big = byte_order(file, &entry)?,
            Part::Storage(key) => storages.push((key, entry)),
            Part::Unused => {}
        }
    }
    let Some(Entry { is_deflated, crc, packed, unpacked, at, name: pickle_name, .. }) = pickle else {
        return Err(unsound(format!(
            "the archive has no entry {}, which every file of this format has",
            quoted(&format!("{prefix}data.pkl"))
        )));
    };
    let pickle = Contents { is_deflated, crc, packed, unpacked, at };
    Ok(Layout { store: Store::of_archive(storages), pickle_name, pickle, prefix, is_big })
}

/// Returns the directory that all entries are in, with its slash.
fn prefix(entries: &[Entry]) -> io::Result<String> {
    let first = entries.first().ok_or_else(|| unsound("the archive has no entries"))?;
    match first.name.split_once('/') {
        Some((directory, _)) => Ok(format!("{directory}/")),
        None => Err(unsound(format!("entry {} of the archive is not in a directory", quoted(&first.name)))),
    }
}

fn part(prefix: &str, entry: &Entry) -> io::Result<Part> {
    let name = quoted(&entry.name);
    let Some(rest) = entry.name.strip_prefix(prefix) else {
        return Err(unsound(format!("entry {name} is not in the directory {}", quoted(prefix))));
    };
    match rest {
        "data.pkl" => return Ok(Part::Pickle),
        "version" | ".data/version" => return Ok(Part::Version),
        "byteorder" => return Ok(Part::ByteOrder),
        ".format_version" | ".storage_alignment" | ".data/serialization_id" => return Ok(Part::Unused),
        _ if entry.unpacked == 0 && (rest.is_empty() || rest.ends_with('/')) => return Ok(Part::Unused),
        _ => {}
    }
    if let Some(key) = rest.strip_prefix("data/") {
        return match number_of(key) {
            Some(key) => Ok(Part::Storage(key)),
            None => Err(unsound(format!("entry {name} has a storage key that is not a number"))),
        };
    }
    if rest == "constants.pkl" || rest.starts_with("code/") {
        return Err(unsound(format!("entry {name} is code: a TorchScript archive, which is a program")));
    }
    Err(unsound(format!("entry {name} is not part of a file that torch.save writes")))
}

fn word(file: &File, entry: &Entry) -> io::Result<String> {
    let name = quoted(&entry.name);
    if entry.unpacked > SHORT {
        return Err(unsound(format!("entry {name} has {} bytes, too many", entry.unpacked)));
    }
    let mut bytes = Vec::new();
    open_entry(file, entry).read_to_end(&mut bytes)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.trim_end().to_owned()),
        Err(_) => Err(unsound(format!("entry {name} is not UTF-8"))),
    }
}

fn check_version(file: &File, entry: &Entry) -> io::Result<()> {
    let version = word(file, entry)?;
    match version.parse::<u32>() {
        Ok(version) if VERSIONS.contains(&version) => Ok(()),
        _ => Err(unsound(format!(
            "entry {} has the version {}; versions 1 to 10 are known",
            quoted(&entry.name),
            quoted(&version)
        ))),
    }
}

/// Returns whether the file is big-endian.
fn byte_order(file: &File, entry: &Entry) -> io::Result<bool> {
    match word(file, entry)?.as_str() {
        "little" => Ok(false),
        "big" => Ok(true),
        other => Err(unsound(format!(
            "entry {} has the unknown byte order {}",
            quoted(&entry.name),
            quoted(other)
        ))),
    }
}
