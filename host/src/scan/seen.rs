//! Bytes that may be pickles, and whether they count as ones.

use super::find::Pickles;
use crate::input::foreign::is_model;
use safetensors_convert::numpy::Header;
use safetensors_convert::pickle::{Finding, Scan, Use, scan};
use safetensors_convert::zip::read_full;
use std::collections::HashSet;
use std::io::{self, Read};

/// The pickle that begins an old file of PyTorch, without its protocol, and that of protocols 0 and 1.
const OLD_TORCH: &[u8] = b"\x8A\nl\xFC\x9CF\xF9 j\xA8P\x19.";
const OLDEST_TORCH: &[u8] = b"L119547037146038801333356L\n.";
/// The pickles that precede the elements in such a file.
const OF_OLD_TORCH: u64 = 5;
const NUMPY: &[u8] = b"\x93NUMPY";

/// What bytes have that may be pickles.
pub struct Seen {
    pub first: Vec<u8>,
    /// The offset of what was scanned: the end of the header of an array whose elements may be objects.
    begin: u64,
    pub scan: Scan,
}

impl Seen {
    /// Scans the bytes that `open` opens.
    pub fn in_bytes<R: Read>(open: impl Fn() -> R) -> io::Result<Self> {
        let mut contents = open();
        Self::after(beginning(&mut contents)?, contents, open)
    }

    /// Scans bytes whose beginning was read. Most of those that are no pickle show that there.
    pub fn after<R: Read>(first: Vec<u8>, rest: R, open: impl Fn() -> R) -> io::Result<Self> {
        let begin = end_of_header(&first, &open)?;
        let scan = if begin == 0 {
            scan(first.chain(rest))?
        } else {
            let mut contents = open();
            io::copy(&mut (&mut contents).take(begin), &mut io::sink())?;
            scan(contents)?
        };
        Ok(Self { first, begin, scan })
    }

    /// Whether these bytes count as pickles; `is_expected` if their place or name is that of one.
    pub fn is_pickle(&self, is_expected: bool) -> bool {
        let scan = &self.scan;
        let may_be_objects = self.begin > 0
            && (scan.problem.is_none()
                || says_objects(self.header())
                || scan.findings.iter().any(|finding| is_meant(finding, scan)));
        is_expected || may_be_objects || imports_something(scan)
    }

    /// The part of an array's header that is in `first`.
    fn header(&self) -> &[u8] {
        let len = usize::try_from(self.begin).unwrap_or(usize::MAX).min(self.first.len());
        self.first.get(..len).unwrap_or_default()
    }

    pub fn into_pickles(self, entry: Vec<String>) -> Pickles {
        Pickles { entry, begin: self.begin, scan: self.scan }
    }
}

pub fn beginning(source: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut first = vec![0; 1 << 12];
    let len = read_full(source, &mut first)?;
    first.truncate(len);
    Ok(first)
}

pub fn is_zip(first: &[u8]) -> bool {
    first.starts_with(b"PK\x03\x04") || first.starts_with(b"PK\x05\x06")
}

/// The offset of the data of an array, where a pickle is if its elements are objects; 0 if they are numbers,
/// or if it is not an array. The header is a literal of Python, which has many spellings for objects; those
/// of numbers that the strict parser accepts have only one meaning.
fn end_of_header<R: Read>(first: &[u8], open: impl Fn() -> R) -> io::Result<u64> {
    let end = match first.strip_prefix(NUMPY) {
        Some([1, _, low, high, ..]) => 10 + u64::from(u16::from_le_bytes([*low, *high])),
        Some([2..=255, _, a, b, c, d, ..]) => 12 + u64::from(u32::from_le_bytes([*a, *b, *c, *d])),
        _ => return Ok(0),
    };
    match Header::read(&mut open()) {
        Ok(_) => Ok(0),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(end),
        Err(error) => Err(error),
    }
}

/// Whether the header of an array has the usual type of objects, which may be members of records, too: in
/// quotes, with an order of bytes or a size.
fn says_objects(header: &[u8]) -> bool {
    let is_type = |text: &[u8]| {
        let Some((quote @ (b'\'' | b'"'), text)) = text.split_first() else { return false };
        let text = match text {
            [b'|' | b'<' | b'>' | b'=', text @ ..] | text => text,
        };
        let rest = text.strip_prefix(b"O").unwrap_or_default();
        rest.iter().find(|byte| !byte.is_ascii_digit()) == Some(quote)
    };
    (0..header.len()).any(|at| header.get(at..).is_some_and(is_type))
}

/// Whether a file of this beginning is of another format: numpy, safetensors or GGUF.
pub fn has_other_format(first: &[u8]) -> bool {
    is_model(first) || first.starts_with(b"GGUF") || first.starts_with(NUMPY)
}

/// Whether a pickle would import or call something, even if its end is damaged.
pub fn does_something(scan: &Scan) -> bool {
    scan.findings.iter().any(|finding| finding.used != Use::PersistentId)
}

/// Whether bytes that need not be a pickle would import or call what is not on the list. A limit counts, too:
/// bytes that are no pickle end sooner, at one that is not an opcode.
pub fn imports_something(scan: &Scan) -> bool {
    let exceeds_limit = scan.problem.as_ref().is_some_and(|problem| problem.is_limit);
    exceeds_limit
        || scan.may_hide
        || scan.findings.iter().any(|finding| !finding.is_listed && is_meant(finding, scan))
}

/// Whether a use in bytes that need not be a pickle is unlikely to be there by chance. A name can be one, or
/// was too long to be kept; or it is computed in a complete pickle, or in one with such a name.
fn is_meant(finding: &Finding, scan: &Scan) -> bool {
    match &finding.name {
        Some(_) => has_name(finding),
        None => {
            let is_near = |other: &Finding| other.pickle == finding.pickle && has_name(other);
            let is_sure = finding.pickle < scan.pickles || scan.may_hide;
            matches!(finding.used, Use::Import | Use::Call) && (is_sure || scan.findings.iter().any(is_near))
        }
    }
}

/// Whether elements are a pickle: a complete one with the name of an import, and not only names on the list.
pub fn surely_imports(scan: &Scan) -> bool {
    let named = scan.findings.iter().filter(|one| has_name(one)).map(|one| one.pickle);
    let named: HashSet<_> = named.filter(|pickle| *pickle < scan.pickles).collect();
    scan.findings.iter().any(|one| !one.is_listed && named.contains(&one.pickle))
}

/// Whether the outermost module can be one. It is imported first, even if the rest cannot be found.
fn has_name(finding: &Finding) -> bool {
    let outermost = finding.name.as_ref().and_then(|name| name.module.split('.').next());
    outermost.is_some_and(|text| !text.is_empty() && !text.contains(char::is_control))
}

/// The elements of an old file of PyTorch follow its pickles, and are not one.
pub fn drop_elements_of_torch(first: &[u8], scan: &mut Scan) {
    if is_old_torch(first) && scan.pickles >= OF_OLD_TORCH {
        let may_hide = scan.may_hide;
        scan.problem.take_if(|problem| !problem.is_limit && !may_hide);
        let is_kept = |one: &&Finding| one.pickle < OF_OLD_TORCH || is_meant(one, scan);
        scan.findings = scan.findings.iter().filter(is_kept).cloned().collect();
    }
}

/// Whether it begins with the pickle of the number by which PyTorch knows its old files; of any protocol.
fn is_old_torch(first: &[u8]) -> bool {
    let number = match first {
        [0x80, 2..=3, number @ ..] => number,
        // In a frame.
        [0x80, 4..=5, 0x95, _, _, _, _, _, _, _, _, number @ ..] => number,
        _ => return first.starts_with(OLDEST_TORCH),
    };
    number.starts_with(OLD_TORCH)
}

#[cfg(test)]
mod tests {
    use super::says_objects;

    #[test]
    fn types_of_objects_are_whole_texts() {
        for (header, is_object) in [
            ("'O'", true),
            ("\"|O\"", true),
            ("'>O8'", true),
            ("[('a','=O')]", true),
            ("('Open','<f8')", false),
            ("'O\"", false),
            ("'OO'", false),
            ("'|'", false),
            ("'", false),
        ] {
            assert_eq!(says_objects(header.as_bytes()), is_object, "{header}");
        }
    }
}
