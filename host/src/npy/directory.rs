//! The list of entries at the end of a zip archive, as far as `.npz` needs it: one disk, no encryption.
//!
//! The crates that read archives keep one entry where a name occurs twice, and reserve memory for as many entries as
//! an archive claims; here both are refused, and so is data that belongs to two entries, by which a small archive
//! unpacks to a huge one.

use super::part::{Part, read_full};
use super::unsound;
use crate::text::quoted;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read};

const END: [u8; 4] = *b"PK\x05\x06";
const END_64: [u8; 4] = *b"PK\x06\x06";
const LOCATOR_64: [u8; 4] = *b"PK\x06\x07";
const LISTED: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";

/// The end with the longest comment there can be.
const LONGEST_END: u64 = 22 + 65_535;
/// As much as the longest header of safetensors; its names must go into one.
const LONGEST_LIST: u64 = 100_000_000;
const IS_ENCRYPTED: u16 = 1;

/// What an archive holds.
pub struct Directory {
    pub entries: Vec<Entry>,
}

/// One file of an archive.
#[derive(Debug)]
pub struct Entry {
    pub name: String,
    pub method: Method,
    pub crc: u32,
    /// In the archive.
    pub packed: u64,
    /// What it becomes.
    pub unpacked: u64,
    /// Where its bytes begin.
    pub at: u64,
    /// Where its own header begins.
    header_at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Stored,
    Deflated,
}

impl Directory {
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] when it is no archive, or says of itself what cannot be.
    pub fn read(file: &File) -> io::Result<Self> {
        let list = List::find(file, file.metadata()?.len())?;
        let mut source = BufReader::new(Part::new(file, list.at, list.len));
        let mut entries = Vec::new();
        for _ in 0..list.entries {
            let mut entry = read_listed(&mut source)?;
            entry.find_data(file, list.at)?;
            entries.push(entry);
        }
        if source.read(&mut [0])? > 0 {
            return Err(unsound(format!(
                "the archive lists more than the {} entries it claims",
                list.entries
            )));
        }
        check_names(&entries)?;
        check_places(&entries)?;
        Ok(Self { entries })
    }
}

/// Where the list of entries lies.
struct List {
    at: u64,
    len: u64,
    entries: u64,
}

impl List {
    fn find(file: &File, file_len: u64) -> io::Result<Self> {
        let tail_len = file_len.min(LONGEST_END);
        let tail_at = file_len - tail_len;
        let tail = bytes_at(file, tail_at, tail_len)?;
        let end = (0..tail.len()).rev().find(|&at| is_end(&tail[at..]));
        let end = end.ok_or_else(|| unsound("this is no .npz: it has no end of a zip archive"))?;
        let fields = &tail[end..];
        let mut list =
            Self { entries: number(fields, 10, 2), len: number(fields, 12, 4), at: number(fields, 16, 4) };
        let end_at = tail_at + end as u64;
        if list.entries == 0xFFFF || list.len == 0xFFFF_FFFF || list.at == 0xFFFF_FFFF {
            list.find_64(file, end_at)?;
        }
        list.check(end_at)?;
        Ok(list)
    }

    /// Large archives have the numbers that do not fit elsewhere.
    fn find_64(&mut self, file: &File, end_at: u64) -> io::Result<()> {
        let locator = match end_at.checked_sub(20) {
            Some(at) => bytes_at(file, at, 20)?,
            None => return Ok(()),
        };
        if !locator.starts_with(&LOCATOR_64) {
            return Ok(());
        }
        let end = bytes_at(file, number(&locator, 8, 8), 56)?;
        if !end.starts_with(&END_64) {
            return Err(unsound("the archive's large end (zip64) is not where it says"));
        }
        (self.entries, self.len, self.at) = (number(&end, 32, 8), number(&end, 40, 8), number(&end, 48, 8));
        Ok(())
    }

    fn check(&self, end_at: u64) -> io::Result<()> {
        let Self { at, len, entries } = *self;
        if at.checked_add(len).is_none_or(|end| end > end_at) {
            return Err(unsound(format!(
                "the archive's list of {len} bytes at byte {at} goes beyond its end at {end_at}"
            )));
        }
        if len > LONGEST_LIST {
            return Err(unsound(format!(
                "the archive's list has {len} bytes; {LONGEST_LIST} are the most that are read"
            )));
        }
        if entries > len / 46 {
            return Err(unsound(format!(
                "the archive claims {entries} entries, which do not fit its list of {len} bytes"
            )));
        }
        Ok(())
    }
}

/// The comment behind the end goes to the end of the file.
fn is_end(bytes: &[u8]) -> bool {
    bytes.len() >= 22 && bytes.starts_with(&END) && number(bytes, 20, 2) + 22 == bytes.len() as u64
}

fn read_listed(source: &mut impl Read) -> io::Result<Entry> {
    let fixed = take(source, 46)?;
    if !fixed.starts_with(&LISTED) {
        return Err(unsound("the archive's list has something that is no entry"));
    }
    let name = take(source, number(&fixed, 28, 2))?;
    let extra = take(source, number(&fixed, 30, 2))?;
    take(source, number(&fixed, 32, 2))?;
    let name = String::from_utf8(name)
        .map_err(|_| unsound("an entry of the archive has a name that is not UTF-8"))?;
    check_name(&name)?;
    let mut large = large_numbers(&extra);
    let mut number_of = |at: usize| match number(&fixed, at, 4) {
        0xFFFF_FFFF => large.next().ok_or_else(|| unsound(format!("entry {} lacks a size", quoted(&name)))),
        small => Ok(small),
    };
    // In the order in which large ones follow each other.
    let (unpacked, packed, header_at) = (number_of(24)?, number_of(20)?, number_of(42)?);
    let crc = u32::try_from(number(&fixed, 16, 4)).unwrap_or_default();
    let method = method_of(&fixed, &name)?;
    if method == Method::Stored && packed != unpacked {
        let name = quoted(&name);
        return Err(unsound(format!(
            "entry {name} is stored as it is, but has two sizes: {packed} and {unpacked} bytes"
        )));
    }
    Ok(Entry { name, method, crc, packed, unpacked, at: 0, header_at })
}

fn method_of(fixed: &[u8], name: &str) -> io::Result<Method> {
    let flags = u16::try_from(number(fixed, 8, 2)).unwrap_or_default();
    if flags & IS_ENCRYPTED != 0 {
        return Err(unsound(format!("entry {} is encrypted", quoted(name))));
    }
    match number(fixed, 10, 2) {
        0 => Ok(Method::Stored),
        8 => Ok(Method::Deflated),
        other => Err(unsound(format!(
            "entry {} is compressed by method {other}; numpy writes 0 (stored) and 8 (deflated)",
            quoted(name)
        ))),
    }
}

/// Whether an archive that is unpacked would write outside its folder for the sake of this name.
pub fn is_unsafe(name: &str) -> bool {
    name.is_empty()
        || name.starts_with('/')
        || name.contains(['\\', '\0'])
        || name.get(1..2) == Some(":")
        || name.split('/').any(|part| part == "..")
}

fn check_name(name: &str) -> io::Result<()> {
    match is_unsafe(name) {
        true => Err(unsound(format!("the archive has an entry with the unsafe name {}", quoted(name)))),
        false => Ok(()),
    }
}

/// The numbers of the extra field for large archives.
fn large_numbers(mut extra: &[u8]) -> impl Iterator<Item = u64> {
    let mut found: &[u8] = &[];
    while let Some((head, rest)) = extra.split_at_checked(4) {
        let len = usize::try_from(number(head, 2, 2)).unwrap_or_default();
        let (field, rest) = rest.split_at(len.min(rest.len()));
        if number(head, 0, 2) == 1 {
            found = field;
        }
        extra = rest;
    }
    let numbers: Vec<u64> = found.chunks_exact(8).map(|bytes| number(bytes, 0, 8)).collect();
    numbers.into_iter()
}

impl Entry {
    /// The entry's own header says once more what it is called, and how long it is itself.
    fn find_data(&mut self, file: &File, list_at: u64) -> io::Result<()> {
        let fixed = bytes_at(file, self.header_at, 30)?;
        let name_len = number(&fixed, 26, 2);
        let is_there = fixed.starts_with(&LOCAL)
            && bytes_at(file, self.header_at + 30, name_len)? == self.name.as_bytes();
        if !is_there {
            return Err(unsound(format!(
                "entry {} is not where the archive's list says",
                quoted(&self.name)
            )));
        }
        self.at = self.header_at + 30 + name_len + number(&fixed, 28, 2);
        if self.at.checked_add(self.packed).is_none_or(|end| end > list_at) {
            let (name, packed) = (quoted(&self.name), self.packed);
            return Err(unsound(format!("entry {name} claims {packed} bytes, which the archive has not")));
        }
        Ok(())
    }
}

fn check_names(entries: &[Entry]) -> io::Result<()> {
    let mut seen = HashSet::new();
    match entries.iter().find(|entry| !seen.insert(entry.name.as_str())) {
        Some(twice) => Err(unsound(format!("the archive has two entries {}", quoted(&twice.name)))),
        None => Ok(()),
    }
}

fn check_places(entries: &[Entry]) -> io::Result<()> {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by_key(|entry| entry.header_at);
    for pair in sorted.windows(2) {
        let [first, second] = pair else { continue };
        if first.at + first.packed > second.header_at {
            let (first, second) = (quoted(&first.name), quoted(&second.name));
            return Err(unsound(format!("entries {first} and {second} of the archive share bytes")));
        }
    }
    Ok(())
}

/// A number of up to 8 bytes, the low one first; 0 where there are none.
fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    let mut number = [0; 8];
    let found = bytes.get(at..at + width).unwrap_or_default();
    number[..found.len()].copy_from_slice(found);
    u64::from_le_bytes(number)
}

/// No file is so long that a system could not say so with a sign.
fn bytes_at(file: &File, at: u64, len: u64) -> io::Result<Vec<u8>> {
    if at > i64::MAX.unsigned_abs() - 0xFFFF {
        return Err(unsound("the archive says that something is beyond its end"));
    }
    take(&mut Part::new(file, at, len), len)
}

/// Never more than 64 KiB.
fn take(source: &mut impl Read, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
    if read_full(source, &mut bytes)? < bytes.len() {
        return Err(unsound("the archive ends in the middle of what it lists"));
    }
    Ok(bytes)
}
