//! Finds the pickles of a file: the file itself, entries of archives, and arrays of objects.

use crate::foreign::is_model;
use safetensors_convert::error::beyond_limit;
use safetensors_convert::pickle::{Problem, Scan, Use, scan};
use safetensors_convert::text::quoted;
use safetensors_convert::zip::{
    Entry, Part, ends_like_archive, entries_of, open_entry, open_stray, read_full, strays,
};
use std::fs::File;
use std::io::{self, Read, Seek, Write};

/// The deepest nesting of archives.
const DEEPEST: usize = 4;
/// The longest archive within another that is unpacked.
const LONGEST: u64 = 1 << 30;
/// The largest number of pickles in a file.
const MOST: usize = 1 << 12;
/// How often entries of a damaged archive may share their bytes.
const SHARED: u64 = 16;
/// The pickle that begins an old file of PyTorch, without its protocol.
const OLD_TORCH: &[u8] = b"\x8A\nl\xFC\x9CF\xF9 j\xA8P\x19.";
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
    if is_zip(&first) {
        if entry.is_empty() {
            // A file may be a pickle and something else, as a loader decides.
            let scan = scan(Part::new(file, 0, len))?;
            if imports_something(&scan) {
                add(found, Pickles { entry: Vec::new(), begin: 0, scan })?;
            }
        }
        return scan_archive(entry, file, found, archives);
    }
    if let Some(begin) = objects_of_numpy(&first) {
        let part = Part::new(file, begin, len.saturating_sub(begin));
        add(found, Pickles { entry: entry.to_vec(), begin, scan: scan(part)? })?;
    } else {
        let mut scan = scan(Part::new(file, 0, len))?;
        drop_elements_of_torch(&first, &mut scan);
        if !is_without_pickles(&first) || imports_something(&scan) {
            add(found, Pickles { entry: Vec::new(), begin: 0, scan })?;
        }
    }
    // Some programs find an archive by its end.
    if ends_like_archive(file)? { scan_strays(entry, file, found) } else { Ok(()) }
}

/// Scans the entries of an archive. Those of a damaged one are looked for by their own headers, because
/// there are programs that read them so.
fn scan_archive(
    entry: &[String],
    file: &File,
    found: &mut Vec<Pickles>,
    archives: &mut Archives,
) -> io::Result<()> {
    let before = found.len();
    let scanned = entries_of(file, "a zip archive")
        .and_then(|entries| entries.iter().try_for_each(|one| scan_entry(entry, file, one, found, archives)));
    let damage = match scanned {
        Ok(()) if found.iter().skip(before).all(|pickles| pickles.scan.problem.is_none()) => return Ok(()),
        Ok(()) => None,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Some(error),
        Err(error) => return Err(error),
    };
    scan_strays(entry, file, found)?;
    match damage {
        Some(error) if found.len() == before => Err(error),
        Some(error) => {
            let sentence = error.to_string();
            let problem = Problem { pickle_at: 0, at: 0, is_limit: false, sentence };
            let scan = Scan { problem: Some(problem), ..Scan::default() };
            add(found, Pickles { entry: entry.to_vec(), begin: 0, scan })
        }
        None => Ok(()),
    }
}

/// Scans entries that nothing but their own headers confirms. Only imports that are not on the list matter.
fn scan_strays(outer: &[String], file: &File, found: &mut Vec<Pickles>) -> io::Result<()> {
    let mut left = file.metadata()?.len().saturating_mul(SHARED);
    for stray in strays(file)? {
        left = left.checked_sub(stray.packed).ok_or_else(|| {
            beyond_limit(format!("entries of a damaged archive share bytes more than {SHARED} times"))
        })?;
        let open = || open_stray(file, &stray).take(LONGEST);
        let begin = objects_of_numpy(&beginning(open()).unwrap_or_default()).unwrap_or(0);
        let mut contents = open();
        if io::copy(&mut (&mut contents).take(begin), &mut io::sink()).is_err() {
            continue;
        }
        let scan = scan(Lenient(contents))?;
        let entry: Vec<String> = outer.iter().cloned().chain([stray.name.clone()]).collect();
        let is_known = found.iter().any(|one| one.entry == entry && one.scan.findings == scan.findings);
        if imports_something(&scan) && !is_known {
            add(found, Pickles { entry, begin, scan })?;
        }
    }
    Ok(())
}

/// What cannot be unpacked is the end.
struct Lenient<R>(R);

impl<R: Read> Read for Lenient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).or_else(|error| match error.raw_os_error() {
            Some(_) => Err(error),
            None => Ok(0),
        })
    }
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
    let begin = objects_of_numpy(&first).unwrap_or(0);
    let mut contents = open_entry(file, one);
    io::copy(&mut (&mut contents).take(begin), &mut io::sink())?;
    let scan = scan(contents)?;
    // Elements of tensors can begin like a pickle, too.
    let is_marked = matches!(first[..], [0x80, ..=5, ..]) && (scan.pickles > 0 || does_something(&scan));
    if is_named || begin > 0 || is_marked || imports_something(&scan) {
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

/// Whether bytes that need not be a pickle would import a name that is not on the list, and that can be one.
fn imports_something(scan: &Scan) -> bool {
    let is_name = |text: &str| !text.is_empty() && !text.contains(|letter: char| letter.is_control());
    scan.findings.iter().any(|finding| match &finding.name {
        Some(name) => !finding.is_listed && is_name(&name.module) && is_name(&name.name),
        None => false,
    })
}

/// The elements of an old file of PyTorch follow its pickles, and are not one.
fn drop_elements_of_torch(first: &[u8], scan: &mut Scan) {
    if is_old_torch(first) && scan.pickles >= OF_OLD_TORCH {
        scan.problem = None;
    }
}

/// Whether it begins with the pickle of the number by which PyTorch knows its old files; of any protocol.
fn is_old_torch(first: &[u8]) -> bool {
    let number = match first {
        [0x80, 2..=3, number @ ..] => number,
        // In a frame.
        [0x80, 4..=5, 0x95, _, _, _, _, _, _, _, _, number @ ..] => number,
        _ => return false,
    };
    number.starts_with(OLD_TORCH)
}
