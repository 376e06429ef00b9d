//! Reads the list of entries of a zip archive: one disk, stored or deflated, no encryption.
//!
//! `rawzip` reads the records. This module rejects what `rawzip` leaves to its callers: duplicate names,
//! entries that share bytes (by which a small archive unpacks to a huge one), and more entries than fit the
//! archive's length.

use super::entry::Contents;
use super::part::{Part, read_full};
use crate::error::{ensure, ensure_within, unsound};
use crate::text::quoted;
use rawzip::{
    CompressionMethod, ErrorKind, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ReaderAt, ZipArchive,
    ZipFileHeaderRecord, ZipLocator,
};
use std::collections::HashSet;
use std::fs::File;
use std::io;

/// The length of the end record with the longest possible comment.
pub(super) const LONGEST_END: u64 = 22 + 65_535;
/// The length of the longest safetensors header; the names must fit into one.
const LONGEST_LIST: u64 = 100_000_000;
/// The smallest size of an entry in the list.
const LISTED: u64 = 46;
/// The signature of the record before the end of a large archive.
const LOCATOR_64: u64 = 0x0706_4b50;
/// The longest name and extra field of an entry's own header.
const LONGEST_LOCAL: usize = 2 * 65_535;

/// What a file unpacks to may be this many times as large, ...
const RATIO: u64 = 64;
/// ... or have this many bytes.
const ALWAYS: u64 = 1 << 30;

/// One file of an archive.
#[derive(Debug)]
pub struct Entry {
    /// The name as the archive has it.
    pub name: String,
    /// Where its bytes are, and what they must be.
    pub contents: Contents,
    /// The offset of its own header.
    header_at: u64,
}

/// Reads the list of an archive, and the header of every entry.
///
/// Memory: 256 bytes and the name for each entry.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] if it is not an archive, or if it contradicts itself;
/// [`io::ErrorKind::QuotaExceeded`] if its list is too long.
pub fn entries(file: &File) -> io::Result<Vec<Entry>> {
    let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let archive = open(file, &mut buffer)?;
    let (claimed, len) = check_list(&archive)?;
    let (mut entries, mut list, mut local) =
        (Vec::new(), archive.entries(&mut buffer), vec![0; LONGEST_LOCAL]);
    let (list_at, mut listed) = (archive.directory_offset(), 0);
    let no_entry = |error| explained(&error, "the archive's list has an invalid entry");
    while let Some(record) = list.next_entry().map_err(no_entry)? {
        entries.push(Entry::new(&archive, &record, &mut local)?);
        let rest = record.extra_fields().remaining_bytes().len() + record.comment().as_bytes().len();
        let end = record.central_directory_offset() + LISTED + (record.file_path().len() + rest) as u64;
        listed = end - list_at;
    }
    let count = entries.len() as u64;
    ensure(count == claimed, || format!("the archive claims {claimed} entries, but lists {count}"))?;
    ensure(listed == len, || {
        format!("the archive's list has {listed} bytes, but its end record says {len}")
    })?;
    let mut seen = HashSet::new();
    entries.iter().map(|entry| entry.name.as_str()).try_for_each(|name| {
        ensure(seen.insert(name), || format!("the archive has two entries named {}", quoted(name)))
    })?;
    check_overlaps(&entries)?;
    Ok(entries)
}

/// A file that is never read beyond its length, because the system may be unable to report that.
struct Source<'f> {
    file: &'f File,
    len: u64,
}

impl ReaderAt for Source<'_> {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        read_full(&mut Part::new(self.file, at.min(self.len), buffer.len() as u64), buffer)
    }
}

fn open<'f>(file: &'f File, buffer: &mut [u8]) -> io::Result<ZipArchive<Source<'f>>> {
    let len = file.metadata()?.len();
    let no_end = "not a zip archive, or a truncated one, which ends without its directory";
    let found =
        ZipLocator::new().max_search_space(LONGEST_END).locate_in_reader(Source { file, len }, buffer, len);
    let archive = found.map_err(|(source, error)| match (error.kind(), error.eocd_offset()) {
        (ErrorKind::InvalidEndOfCentralDirectory, Some(end_at)) => {
            source.list(end_at).map_or_else(|error| error, |list| beyond(list, end_at))
        }
        _ => explained(&error, no_end),
    })?;
    // They may be another archive, whose entries other programs may read.
    ensure(archive.end_offset() == len, || "bytes follow the end of the archive")?;
    Ok(archive)
}

impl Source<'_> {
    /// Returns the offset and the length of the list, as stated in the archive's end record.
    fn list(&self, end_at: u64) -> io::Result<(u64, u64)> {
        let (at, len) = (self.number(end_at + 16, 4)?, self.number(end_at + 12, 4)?);
        let is_large = [at, len].contains(&u32::MAX.into()) && end_at >= 20;
        if !is_large || self.number(end_at - 20, 4)? != LOCATOR_64 {
            return Ok((at, len));
        }
        // Large archives have numbers that do not fit there in another record.
        let large = self.number(end_at - 12, 8)?;
        Ok((self.number(large.saturating_add(48), 8)?, self.number(large.saturating_add(40), 8)?))
    }

    fn number(&self, at: u64, width: usize) -> io::Result<u64> {
        let mut bytes = [0; 8];
        let read = self.read_at(&mut bytes[..width], at)?;
        ensure(read == width, || "the archive's end record points beyond the end of the file")?;
        Ok(u64::from_le_bytes(bytes))
    }
}

fn beyond((at, len): (u64, u64), end_at: u64) -> io::Error {
    unsound(format!("the archive's list of {len} bytes at byte {at} goes beyond its end at {end_at}"))
}

/// Checks the list, and returns the stated number of entries and the length of the list.
fn check_list(archive: &ZipArchive<Source<'_>>) -> io::Result<(u64, u64)> {
    let (claimed, end_at) = (archive.entries_hint(), archive.eocd_offset());
    let (at, len) = archive.get_ref().list(end_at)?;
    if at.checked_add(len).is_none_or(|end| end > end_at) {
        return Err(beyond((at, len), end_at));
    }
    // If other bytes precede the archive, all offsets in it are wrong, and programs interpret it
    // differently.
    ensure(at == archive.directory_offset(), || {
        format!("the archive's list is not at byte {at}, where its end record says it is")
    })?;
    ensure_within(len <= LONGEST_LIST, || {
        format!("the archive's list has {len} bytes, at most {LONGEST_LIST} are allowed")
    })?;
    ensure(claimed <= len / LISTED, || {
        format!("the archive claims {claimed} entries, which do not fit its list of {len} bytes")
    })?;
    Ok((claimed, len))
}

impl Entry {
    fn new(
        archive: &ZipArchive<Source<'_>>,
        record: &ZipFileHeaderRecord<'_>,
        local: &mut [u8],
    ) -> io::Result<Self> {
        let name = String::from_utf8(record.file_path().as_bytes().to_vec())
            .map_err(|_| unsound("an entry of the archive has a name that is not UTF-8"))?;
        let shown = quoted(&name);
        ensure(!is_unsafe(&name), || format!("the archive has an entry with the unsafe name {shown}"))?;
        ensure(!record.flags().is_encrypted(), || format!("entry {shown} is encrypted"))?;
        let is_deflated = match record.compression_method() {
            CompressionMethod::STORE => false,
            CompressionMethod::DEFLATE => true,
            other => {
                let method = named_method(other.as_u16());
                return Err(unsound(format!(
                    "entry {shown} is compressed by method {method}; only 0 (stored) and 8 (deflated) are \
                    supported"
                )));
            }
        };
        let (packed, unpacked) = (record.compressed_size_hint(), record.uncompressed_size_hint());
        ensure(is_deflated || packed == unpacked, || {
            format!(
                "entry {shown} is not compressed, but its two sizes differ: {packed} and {unpacked} bytes"
            )
        })?;
        // The entry's own header repeats its name and has its own length.
        let elsewhere = || format!("entry {shown} is not where the archive's list says it is");
        let not_there = |error| explained(&error, elsewhere());
        let entry = archive.get_entry(record.wayfinder()).map_err(not_there)?;
        let header = entry.local_header(local).map_err(not_there)?;
        ensure(header.file_path() == record.file_path(), elsewhere)?;
        let (at, end) = entry.compressed_data_range();
        ensure(end <= archive.directory_offset(), || {
            format!("entry {shown} claims {packed} bytes, more than the archive has")
        })?;
        let header_at = record.local_header_offset();
        let contents = Contents { is_deflated, crc: record.crc32(), packed, unpacked, at };
        Ok(Self { name, contents, header_at })
    }
}

/// A method of compression, with its name if it is a usual one.
fn named_method(method: u16) -> String {
    let names = [(9, "Deflate64"), (12, "bzip2"), (14, "LZMA"), (93, "Zstandard"), (95, "xz")];
    let name = names.iter().find(|(number, _)| *number == method);
    name.map_or_else(|| method.to_string(), |(_, name)| format!("{method} ({name})"))
}

/// Replaces an error about the archive by this sentence; errors of the system stay.
fn explained(error: &rawzip::Error, sentence: impl Into<String>) -> io::Error {
    match error.kind() {
        ErrorKind::IO(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
        }
        _ => unsound(sentence),
    }
}

/// Whether unpacking an entry with this name would write outside the directory.
pub fn is_unsafe(name: &str) -> bool {
    name.is_empty()
        || name.starts_with('/')
        || name.contains(['\\', '\0'])
        || name.get(1..2) == Some(":")
        || name.split('/').any(|part| part == "..")
}

fn check_overlaps(entries: &[Entry]) -> io::Result<()> {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by_key(|entry| entry.header_at);
    for pair in sorted.windows(2) {
        let [first, second] = pair else { continue };
        ensure(first.contents.at + first.contents.packed <= second.header_at, || {
            format!("entries {} and {} of the archive share bytes", quoted(&first.name), quoted(&second.name))
        })?;
    }
    Ok(())
}

/// Returns the largest number of bytes that a file of `len` bytes may unpack to.
pub fn most_unpacked(len: u64) -> u64 {
    len.saturating_mul(RATIO).max(ALWAYS)
}

/// Rejects archives that unpack to far more than their length.
///
/// # Errors
/// [`io::ErrorKind::QuotaExceeded`] if the deflated entries of an archive of `len` bytes do.
pub fn check_ratio(entries: &[Entry], len: u64) -> io::Result<()> {
    let deflated = entries.iter().filter(|entry| entry.contents.is_deflated);
    let unpacked = deflated.fold(0_u64, |sum, entry| sum.saturating_add(entry.contents.unpacked));
    let most = most_unpacked(len);
    ensure_within(unpacked <= most, || {
        format!("the archive of {len} bytes unpacks to {unpacked} bytes, at most {most} are allowed")
    })
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_LIST, entries};
    use std::io::{self, Write};

    #[test]
    fn a_list_that_is_too_long_is_beyond_the_limit() {
        let mut file = tempfile::tempfile().expect("a file");
        let len = u32::try_from(LONGEST_LIST + 1).expect("short");
        // A hole.
        file.set_len(len.into())
            .and_then(|()| io::Seek::seek(&mut file, io::SeekFrom::End(0)))
            .expect("a file");
        let end = [b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &len.to_le_bytes()[..], &[0; 6]].concat();
        file.write_all(&end).expect("disk space");
        let error = entries(&file).expect_err("too long");
        assert_eq!(error.kind(), io::ErrorKind::QuotaExceeded, "{error}");
    }
}
