//! Finds the pickles of a file: the file itself, entries of archives, and arrays of objects.

use crate::foreign::is_model;
use safetensors_convert::error::beyond_limit;
use safetensors_convert::pickle::{Scan, Use, scan};
use safetensors_convert::text::quoted;
use safetensors_convert::zip::{Entry, Part, entries_of, open_entry, read_full};
use std::fs::File;
use std::io::{self, Read, Seek, Write};

/// The deepest nesting of archives.
const DEEPEST: usize = 4;
/// The longest archive within another that is unpacked.
const LONGEST: u64 = 1 << 30;
/// The largest number of pickles in a file.
const MOST: usize = 1 << 12;
/// What the pickle that begins an old file of PyTorch begins with.
const OLD_TORCH: &[u8] = b"\x80\x02\x8A\nl\xFC\x9CF\xF9 j\xA8P\x19.";
/// The pickles that precede the elements in such a file.
const OF_OLD_TORCH: u64 = 5;
/// The suffixes of pickles in archives.
const SUFFIXES: [&str; 6] = [".pkl", ".pickle", ".pk", ".p", ".joblib", ".dill"];

/// The pickles that follow each other in one place of a file.
pub struct Pickles {
    /// The names of the entry and of the archives that have it; none for the file itself.
    pub entry: Vec<String>,
    /// The offset of the first one in its entry or its file.
    pub begin: u64,
    pub scan: Scan,
}

/// Scans all pickles of a file.
///
/// # Errors
/// Those of reading; an archive is unsound; a limit is exceeded.
pub fn scan_file(file: &File) -> io::Result<Vec<Pickles>> {
    let mut found = Vec::new();
    let mut archives = vec![(Vec::new(), file.try_clone()?)];
    // Archives in archives are scanned after those that have them.
    while let Some((entry, file)) = archives.pop() {
        scan_one(&entry, &file, &mut found, &mut archives)?;
    }
    Ok(found)
}

/// Archives that are still to be scanned, with the names of their entries.
type Archives = Vec<(Vec<String>, File)>;

/// Scans a file, or an archive that was an entry of another.
fn scan_one(
    entry: &[String],
    file: &File,
    found: &mut Vec<Pickles>,
    archives: &mut Archives,
) -> io::Result<()> {
    let len = file.metadata()?.len();
    let first = beginning(Part::new(file, 0, len))?;
    let is_archive = is_zip(&first);
    if let Some(begin) = objects_of_numpy(&first) {
        let part = Part::new(file, begin, len.saturating_sub(begin));
        add(found, Pickles { entry: entry.to_vec(), begin, scan: scan(part)? })?;
    } else if entry.is_empty() {
        // A file may be a pickle and something else, as a loader decides.
        let mut scan = scan(Part::new(file, 0, len))?;
        drop_elements_of_torch(&first, &mut scan);
        if !(is_archive || is_without_pickles(&first)) || does_something(&scan) {
            add(found, Pickles { entry: Vec::new(), begin: 0, scan })?;
        }
    }
    if is_archive {
        for one in entries_of(file, "a zip archive")? {
            scan_entry(entry, file, &one, found, archives)?;
        }
    }
    Ok(())
}

fn scan_entry(
    outer: &[String],
    file: &File,
    one: &Entry,
    found: &mut Vec<Pickles>,
    archives: &mut Archives,
) -> io::Result<()> {
    let entry: Vec<String> = outer.iter().cloned().chain([one.name.clone()]).collect();
    let first = beginning(open_entry(file, one))?;
    if is_zip(&first) {
        if entry.len() > DEEPEST {
            let name = quoted(&one.name);
            return Err(beyond_limit(format!("entry {name} is an archive deeper than {DEEPEST} others")));
        }
        archives.push((entry, unpacked(file, one)?));
        return Ok(());
    }
    let is_named = SUFFIXES.iter().any(|suffix| one.name.to_ascii_lowercase().ends_with(suffix));
    let begin = match objects_of_numpy(&first) {
        Some(begin) => begin,
        None if is_named || matches!(first[..], [0x80, ..=5, ..]) => 0,
        None => return Ok(()),
    };
    let mut contents = open_entry(file, one);
    io::copy(&mut (&mut contents).take(begin), &mut io::sink())?;
    let scan = scan(contents)?;
    // Elements of tensors can begin like a pickle, too.
    if is_named || begin > 0 || scan.pickles > 0 || does_something(&scan) {
        add(found, Pickles { entry, begin, scan })?;
    }
    Ok(())
}

fn add(found: &mut Vec<Pickles>, pickles: Pickles) -> io::Result<()> {
    if found.len() == MOST {
        return Err(beyond_limit(format!("more than {MOST} pickles")));
    }
    found.push(pickles);
    Ok(())
}

fn beginning(mut source: impl Read) -> io::Result<Vec<u8>> {
    let mut first = vec![0; 1 << 12];
    let len = read_full(&mut source, &mut first)?;
    first.truncate(len);
    Ok(first)
}

fn is_zip(first: &[u8]) -> bool {
    first.starts_with(b"PK\x03\x04") || first.starts_with(b"PK\x05\x06")
}

/// Unpacks an archive within another into an unnamed file.
fn unpacked(file: &File, one: &Entry) -> io::Result<File> {
    if one.unpacked > LONGEST {
        let (name, len) = (quoted(&one.name), one.unpacked);
        return Err(beyond_limit(format!("entry {name} is an archive of {len} bytes, more than {LONGEST}")));
    }
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut open_entry(file, one), &mut copy)?;
    copy.flush()?;
    copy.rewind()?;
    Ok(copy)
}

/// The offset of the pickle that is the data of an array of Python objects.
fn objects_of_numpy(first: &[u8]) -> Option<u64> {
    let rest = first.strip_prefix(b"\x93NUMPY")?;
    let (begin, len) = match *rest {
        [1, _, low, high, ..] => (10, u32::from(u16::from_le_bytes([low, high]))),
        [2..=255, _, a, b, c, d, ..] => (12, u32::from_le_bytes([a, b, c, d])),
        _ => return None,
    };
    let end = begin + u64::from(len);
    let header = first.get(usize::try_from(begin).ok()?..usize::try_from(end).ok()?.min(first.len()))?;
    // Objects may be members of records, too.
    let has_objects = header.windows(2).any(|pair| matches!(pair, b"|O" | b"'O" | b"\"O"));
    has_objects.then_some(end)
}

/// Whether a file of this beginning is of a format that has no pickles: safetensors, GGUF, or numbers of
/// numpy.
fn is_without_pickles(first: &[u8]) -> bool {
    is_model(first) || first.starts_with(b"GGUF") || first.starts_with(b"\x93NUMPY")
}

/// Whether a pickle would import or call something, even if its end is damaged.
fn does_something(scan: &Scan) -> bool {
    scan.findings.iter().any(|finding| finding.used != Use::PersistentId)
}

/// The elements of an old file of PyTorch follow its pickles, and are not one.
fn drop_elements_of_torch(first: &[u8], scan: &mut Scan) {
    if first.starts_with(OLD_TORCH) && scan.pickles >= OF_OLD_TORCH {
        scan.problem = None;
    }
}
