//! Bytes that may be pickles, and whether they count as ones.

use super::find::Pickles;
use crate::input::foreign::{is_model, is_old_torch};
use safetensors_convert::numpy::Header;
use safetensors_convert::pickle::{Finding, Scan, Use, scan};
use safetensors_convert::zip::read_full;
use std::collections::HashSet;
use std::io::{self, Read};

/// The pickles that precede the elements in such a file.
const OF_OLD_TORCH: u64 = 5;
const NUMPY: &[u8] = b"\x93NUMPY";
/// The bytes of a beginning.
const FIRST: usize = 1 << 12;

/// What bytes have that may be pickles.
pub struct Seen {
    pub first: Vec<u8>,
    /// The offset of what was scanned: the end of the header of an array whose elements may be objects.
    begin: u64,
    scan: Scan,
}

impl Seen {
    /// Scans the bytes that `open` opens.
    pub fn in_bytes<R: Read>(open: impl Fn() -> R) -> io::Result<Self> {
        let (first, rest) = Self::beginning(open())?;
        Self::after(first, rest, open)
    }

    /// Reads the beginning of bytes. Most of those that are no pickle show that there.
    pub fn beginning<R: Read>(mut source: R) -> io::Result<(Vec<u8>, R)> {
        let mut first = vec![0; FIRST];
        let len = read_full(&mut source, &mut first)?;
        first.truncate(len);
        Ok((first, source))
    }

    /// Scans bytes whose beginning was read.
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

    pub fn into_pickles(self, entry: Vec<String>) -> Pickles {
        Pickles { entry, begin: self.begin, scan: self.scan }
    }

    /// Whether these bytes count as pickles; `is_expected` if a pickle has such a place or name.
    pub fn is_pickle(&self, is_expected: bool) -> bool {
        let header = usize::try_from(self.begin).unwrap_or(usize::MAX).min(self.first.len());
        let may_be_objects = || {
            self.scan.problem.is_none()
                || says_objects(&self.first[..header])
                || self.scan.findings.iter().any(|finding| self.is_meant(finding))
        };
        is_expected || (self.begin > 0 && may_be_objects()) || self.imports_something()
    }

    /// Whether they begin with a version, and are a pickle or would do something, even if their end is
    /// damaged.
    pub fn begins_like_pickle(&self) -> bool {
        let Scan { pickles, findings, .. } = &self.scan;
        matches!(self.first[..], [0x80, ..=5, ..])
            && (*pickles > 0 || findings.iter().any(|finding| finding.used != Use::PersistentId))
    }

    /// Whether a file of this beginning is of another format: numpy, safetensors, GGUF or TFLite.
    pub fn has_other_format(&self) -> bool {
        let begins = |magic| self.first.starts_with(magic);
        is_model(&self.first) || begins(b"GGUF") || begins(NUMPY) || self.first.get(4..8) == Some(b"TFL3")
    }

    /// Whether bytes that need not be a pickle would import or call what is not on the list. A limit counts,
    /// too: bytes that are no pickle end sooner, at one that is not an opcode.
    pub fn imports_something(&self) -> bool {
        let Scan { problem, findings, may_hide, .. } = &self.scan;
        let exceeds_limit = problem.as_ref().is_some_and(|problem| problem.is_limit);
        let is_bad = |finding: &Finding| !finding.is_listed && self.is_meant(finding);
        exceeds_limit || *may_hide || findings.iter().any(is_bad)
    }

    /// Whether elements are a pickle: a complete one with the name of an import, and not only names on the
    /// list.
    pub fn surely_imports(&self) -> bool {
        let Scan { findings, pickles, .. } = &self.scan;
        let named = findings.iter().filter(|one| has_name(one) && one.pickle < *pickles);
        let named: HashSet<_> = named.map(|one| one.pickle).collect();
        findings.iter().any(|one| !one.is_listed && named.contains(&one.pickle))
    }

    /// Whether a use in bytes that need not be a pickle is unlikely to be there by chance. A name can be one,
    /// or was too long to be kept; or it is computed in a complete pickle, or in one with such a name.
    fn is_meant(&self, finding: &Finding) -> bool {
        if finding.name.is_some() {
            return has_name(finding);
        }
        let Scan { findings, pickles, may_hide, .. } = &self.scan;
        let is_near = |other: &Finding| other.pickle == finding.pickle && has_name(other);
        let is_sure = finding.pickle < *pickles || *may_hide;
        matches!(finding.used, Use::Import | Use::Call) && (is_sure || findings.iter().any(is_near))
    }

    /// Drops what bytes of an unknown format have by chance: no pickle is complete or begins with a version,
    /// and no name can be one of a module.
    pub fn drop_chance(&mut self) {
        let Scan { problem, findings, pickles, may_hide } = &mut self.scan;
        let is_broken = problem.as_ref().is_some_and(|problem| !problem.is_limit) && *pickles == 0;
        let may_be_meant = |one: &Finding| match outermost(one) {
            Some(module) => module.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter)),
            None => matches!(one.used, Use::Import | Use::Call),
        };
        if is_broken && !*may_hide && self.first.first() != Some(&0x80) && !findings.iter().any(may_be_meant)
        {
            findings.clear();
        }
    }

    /// The elements of an old file of PyTorch follow its pickles, and are not one.
    pub fn drop_elements_of_torch(&mut self) {
        if self.scan.pickles < OF_OLD_TORCH || !is_old_torch(&self.first) {
            return;
        }
        let is_kept = |one: &&Finding| one.pickle < OF_OLD_TORCH || self.is_meant(one);
        let kept = self.scan.findings.iter().filter(is_kept).cloned().collect();
        let may_hide = self.scan.may_hide;
        self.scan.problem.take_if(|problem| !problem.is_limit && !may_hide);
        self.scan.findings = kept;
    }
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
    (0..header.len()).any(|at| is_type(&header[at..]))
}

/// Whether the outermost module can be one.
fn has_name(finding: &Finding) -> bool {
    outermost(finding).is_some_and(|text| !text.is_empty() && !text.contains(char::is_control))
}

/// The outermost module, which is imported first, even if the rest cannot be found.
fn outermost(finding: &Finding) -> Option<&str> {
    finding.name.as_ref()?.module.split('.').next()
}
