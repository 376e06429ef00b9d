//! Finds entries by their own headers, wherever they are in a file: what programs that do not check archives
//! would read.

use super::directory::LONGEST_END;
use super::entry::unchecked;
use super::part::{Part, read_full};
use crate::error::ensure_within;
use std::fs::File;
use std::io::{self, Read};

/// What an entry's own header begins with.
const SIGNATURE: &[u8; 4] = b"PK\x03\x04";
/// The length of a header without name and extra fields.
const HEADER: usize = 30;
/// What the record at the end of an archive begins with.
const END: &[u8; 4] = b"PK\x05\x06";
/// The largest number of headers.
const MOST: usize = 1 << 12;
const CHUNK: usize = 1 << 18;

/// An entry that nothing but its own header confirms.
#[derive(Debug)]
pub struct Stray {
    /// The name; what is not UTF-8 in it is replaced.
    pub name: String,
    /// Whether it is deflated; otherwise it is taken as stored.
    pub is_deflated: bool,
    /// The offset of its bytes.
    pub at: u64,
    /// The size in the archive: what the header says, or what there is up to the next header.
    pub packed: u64,
}

/// Whether a file ends like an archive, whatever it begins with.
///
/// # Errors
/// Those of the system.
pub fn ends_like_archive(file: &File) -> io::Result<bool> {
    let len = file.metadata()?.len();
    let mut end = Vec::new();
    let at = len.saturating_sub(LONGEST_END);
    Part::new(file, at, len - at).read_to_end(&mut end)?;
    Ok(end.windows(END.len()).any(|window| window == END))
}

/// Finds all entries. Nothing is checked, so that they may share bytes, also those of their names: each is
/// read when it is due.
///
/// # Errors
/// Those of the system; there are more than 4,096.
pub fn strays(file: &File) -> io::Result<impl Iterator<Item = io::Result<Stray>>> {
    let len = file.metadata()?.len();
    let headers = headers(file, len)?;
    let ends: Vec<_> = headers.iter().skip(1).copied().chain([len]).collect();
    Ok(headers.into_iter().zip(ends).map(move |(header, end)| stray(file, header, end, len)))
}

/// Opens the bytes of an entry, and does not check them.
pub fn open_stray<'f>(file: &'f File, stray: &Stray) -> impl Read + use<'f> {
    unchecked(file, stray.at, stray.packed, stray.is_deflated)
}

/// Returns the offsets of all signatures.
fn headers(file: &File, len: u64) -> io::Result<Vec<u64>> {
    let (mut found, mut at, mut chunk) = (Vec::new(), 0, vec![0; CHUNK]);
    while at < len {
        let read = read_full(&mut Part::new(file, at, len - at), &mut chunk)?;
        let bytes = chunk.get(..read).unwrap_or_default();
        let places = bytes.windows(SIGNATURE.len()).enumerate().filter(|(_, window)| *window == SIGNATURE);
        found.extend(places.map(|(place, _)| at + place as u64));
        ensure_within(found.len() <= MOST, || {
            format!(
                "the file is damaged and has more than {MOST} headers of entries, which are all looked for"
            )
        })?;
        // A signature may be in two chunks.
        let is_last = read < chunk.len();
        at += if is_last { len - at } else { (read - SIGNATURE.len() + 1) as u64 };
    }
    Ok(found)
}

fn stray(file: &File, header: u64, next: u64, len: u64) -> io::Result<Stray> {
    let mut bytes = [0; HEADER];
    read_full(&mut Part::new(file, header, len - header), &mut bytes)?;
    let [.., b8, b9, _, _, _, _, _, _, _, _, p0, p1, p2, p3, _, _, _, _, n0, n1, e0, e1] = bytes;
    let [method, name_len, extra] = [[b8, b9], [n0, n1], [e0, e1]].map(u16::from_le_bytes);
    let mut name = vec![0; usize::from(name_len)];
    let name_at = header + HEADER as u64;
    let filled = read_full(&mut Part::new(file, name_at.min(len), len.saturating_sub(name_at)), &mut name)?;
    name.truncate(filled);
    let at = (name_at + u64::from(name_len) + u64::from(extra)).min(len);
    // The lengths may follow the bytes, or be in an extra field.
    let packed = match u32::from_le_bytes([p0, p1, p2, p3]) {
        0 | u32::MAX => next.saturating_sub(at),
        packed => u64::from(packed).min(len - at),
    };
    let name = String::from_utf8_lossy(&name).into_owned();
    Ok(Stray { name, is_deflated: method == 8, at, packed })
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Stray, ends_like_archive, open_stray, strays};
    use crate::samples::file;
    use std::io::{self, Read};

    fn entry(name: &str, contents: &[u8], packed: u32) -> Vec<u8> {
        let name_len = u16::try_from(name.len()).expect("short").to_le_bytes();
        let head = [b"PK\x03\x04", &[0; 14][..], &packed.to_le_bytes(), &[0; 4], &name_len, &[0; 2]].concat();
        [&head, name.as_bytes(), contents].concat()
    }

    fn all(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
        let file = file(bytes);
        let read = |stray: io::Result<Stray>| {
            let (stray, mut bytes) = (stray.expect("a name"), Vec::new());
            open_stray(&file, &stray).read_to_end(&mut bytes).expect("stored");
            (stray.name, bytes)
        };
        strays(&file).expect("few").map(read).collect()
    }

    #[test]
    fn entries_are_found_wherever_they_are() {
        let pair = |name: &str, contents: &[u8]| (name.to_owned(), contents.to_vec());
        let two = [b"garbage", &entry("a", b"one", 3)[..], &entry("b", b"two", 0)].concat();
        assert_eq!(all(&two), [pair("a", b"one"), pair("b", b"two")]);
        for before in CHUNK - 4..=CHUNK + 1 {
            let late = [&vec![0; before][..], &entry("a", b"one", 3)].concat();
            assert_eq!(all(&late), [pair("a", b"one")], "{before}");
        }
        // Lengths that lie end at the end of the file.
        assert_eq!(all(&entry("a", b"one", 1000)), [pair("a", b"one")]);
        for cut in 4..30 {
            assert!(all(&entry("a", b"one", 3)[..cut]).len() <= 1);
        }
        assert!(strays(&file(&b"PK\x03\x04".repeat(5000))).is_err());
    }

    #[test]
    fn an_archive_is_known_by_its_end() {
        let end = [b"garbage PK\x05\x06", &[0; 18][..]].concat();
        assert!(ends_like_archive(&file(&end)).expect("a file"));
        assert!(!ends_like_archive(&file(b"PK\x03\x04")).expect("a file"));
    }
}
