//! A small strict reader of safetensors, with a place for each bug of [`Bug`].
//!
//! It reads a file in three steps: the container (here), the header's text and JSON (`text`, `json`,
//! `entries`), and the layout of the tensors (here). Without a bug it gives this project's verdict.

use crate::bugs::Bug;
use crate::entries::{self, Entry, Pairs};
use crate::text;

/// Why a file is rejected.
pub type Why = &'static str;

/// A reader, with a bug or without one.
#[derive(Clone, Copy)]
pub struct Reader {
    bug: Option<Bug>,
    deviates: bool,
}

/// What a reader reports of a file that it accepts.
#[derive(Debug, PartialEq, Eq)]
pub struct Model<'a> {
    /// The tensors in the order of their offsets.
    pub tensors: Vec<Tensor<'a>>,
    /// The metadata, if there is any.
    pub metadata: Option<Pairs>,
}

/// One tensor.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tensor<'a> {
    /// Begin and end.
    pub offsets: [u64; 2],
    /// The name, in UTF-8.
    pub name: Vec<u8>,
    /// The spelling of the dtype.
    pub dtype: &'static str,
    /// The dimensions.
    pub shape: Vec<u64>,
    /// Its bytes, if the file has them.
    pub bytes: Option<&'a [u8]>,
}

/// The largest header.
const LONGEST: u64 = 100_000_000;

impl Reader {
    /// The reader without a bug.
    pub const RIGHT: Self = Self { bug: None, deviates: false };
    /// The reader that gives the verdict of the reference: D1 to D5 of RULES.md.
    #[cfg(feature = "oracle")]
    pub const REFERENCE: Self = Self { bug: None, deviates: true };

    /// Returns the reader with a bug.
    pub fn with(bug: Bug) -> Self {
        Self { bug: Some(bug), deviates: false }
    }

    /// Returns its bug.
    pub fn bug(self) -> Option<Bug> {
        self.bug
    }

    /// Whether it has this bug.
    pub fn has(self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Whether it does as the reference does, where this project does not.
    pub fn deviates(self) -> bool {
        self.deviates
    }

    /// Whether it has one of these bugs.
    pub fn has_any(self, bugs: &[Bug]) -> bool {
        bugs.iter().any(|bug| self.has(*bug))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Why it is rejected.
    pub fn read(self, file: &[u8]) -> Result<Model<'_>, Why> {
        let (header, data) = self.container(file)?;
        let text = text::header(self, header)?;
        let mut header = entries::read(self, &text)?;
        self.layout(&mut header.entries, file, data)?;
        let mut tensors: Vec<Tensor<'_>> =
            header.entries.into_iter().map(|entry| self.tensor(entry, file, data)).collect();
        tensors.retain(|tensor| !(self.has(Bug::ProtoNameLost) && tensor.name == b"__proto__"));
        tensors.sort_unstable();
        let metadata = header.metadata.filter(|_| !self.has(Bug::MetadataLost));
        Ok(Model { tensors, metadata })
    }

    /// Returns the header, and where the data begins.
    fn container(self, file: &[u8]) -> Result<(&[u8], usize), Why> {
        if file.is_empty() && self.has(Bug::NoBytesAccepted) {
            return Ok((b"{}", 0));
        }
        let short = if self.has(Bug::SmallFileRejected) { 16 } else { 8 };
        let begin = if self.has(Bug::LengthOfFourBytes) { 4 } else { 8 };
        if file.len() < if begin == 4 { 4 } else { short } {
            return Err("too short for a length");
        }
        let length = self.length(file);
        let rest = &file[begin..];
        if length == 0 && self.has(Bug::NoHeaderAccepted) {
            return Ok((b"{}", begin));
        }
        if self.wraps(length, file.len()) {
            return Ok((rest, file.len()));
        }
        if length > LONGEST {
            return Err("a header that is too long");
        }
        if self.limits_header(length) {
            return Err("a header that is longer than a buffer");
        }
        let held = usize::try_from(length).map_or(rest.len(), |length| length.min(rest.len()));
        let missing = length - held as u64;
        if missing > 0 && !self.has(Bug::HeaderCut) && !(missing == 1 && self.has(Bug::HeaderCutByOne)) {
            return Err("a file that ends in its header");
        }
        if held == rest.len() && self.has(Bug::HeaderAtEndRejected) {
            return Err("a file that ends with its header");
        }
        let data = begin + held;
        let data = match self.bug {
            Some(Bug::DataAligned8) => data.next_multiple_of(8),
            Some(Bug::DataAligned64) => data.next_multiple_of(64),
            _ => data,
        };
        Ok((if self.has(Bug::HeaderUnbounded) { rest } else { &rest[..held] }, data.min(file.len())))
    }

    fn length(self, file: &[u8]) -> u64 {
        let mut eight = [0; 8];
        let stored = &file[..file.len().min(8)];
        eight[..stored.len()].copy_from_slice(stored);
        let length = u64::from_le_bytes(eight);
        match self.bug {
            Some(Bug::LengthBigEndian) => length.swap_bytes(),
            Some(Bug::LengthOfFourBytes) => length & 0xFFFF_FFFF,
            Some(Bug::LengthIn8) => length & 0xFF,
            Some(Bug::LengthIn63) => length & (u64::MAX >> 1),
            Some(Bug::LengthCountsItself) => length.saturating_sub(8),
            Some(Bug::LengthOffByOne) => length.saturating_sub(1),
            _ => length,
        }
    }

    /// Whether a huge length passes all checks, so that the rest of the file is the header.
    fn wraps(self, length: u64, file: usize) -> bool {
        let file = file as u64;
        match self.bug {
            Some(Bug::LengthNegative) => length > 1 << 63,
            Some(Bug::LengthSumWraps64) => length > LONGEST && length.wrapping_add(8) <= file,
            Some(Bug::LengthSumWraps32) => {
                length > LONGEST && (length >> 32 == 0) && (length + 8) & 0xFFFF_FFFF <= file
            }
            _ => false,
        }
    }

    fn limits_header(self, length: u64) -> bool {
        match self.bug {
            Some(Bug::Header64K) => length >= 1 << 16,
            Some(Bug::HeaderUnaligned) => !length.is_multiple_of(8),
            _ => false,
        }
    }

    fn tensor<'a>(self, entry: Entry, file: &'a [u8], data: usize) -> Tensor<'a> {
        let base = if self.has(Bug::BytesFromFile) { 0 } else { data };
        let range = [entry.begin, entry.end].map(|at| usize::try_from(at).ok()?.checked_add(base));
        let bytes = match range {
            [Some(begin), Some(end)] => file.get(begin..end),
            _ => None,
        };
        let Entry { name, dtype, shape, begin, end } = entry;
        Tensor { offsets: [begin, end], name, dtype: self.reported(dtype.0), shape, bytes }
    }

    fn reported(self, dtype: &'static str) -> &'static str {
        match (self.bug, dtype) {
            (Some(Bug::FnuzConfused), "F8_E4M3FNUZ") => "F8_E4M3",
            (Some(Bug::FnuzConfused), "F8_E5M2FNUZ") => "F8_E5M2",
            (Some(Bug::UnsignedConfused), "U16" | "U32" | "U64") => {
                if dtype == "U16" {
                    "I16"
                } else {
                    "I32"
                }
            }
            (Some(Bug::HalvesConfused), "BF16") => "F16",
            (Some(Bug::BoolAsU8), "BOOL") => "U8",
            _ => dtype,
        }
    }

    /// Checks that the tensors cover the data without holes and overlaps.
    fn layout(self, entries: &mut [Entry], file: &[u8], data: usize) -> Result<(), Why> {
        let stored = (file.len() - data) as u64;
        if self.limits_count(entries.len()) {
            return Err("too many tensors");
        }
        let checked = match self.bug {
            Some(Bug::TensorsIn8) => entries.len() & 0xFF,
            Some(Bug::LayoutOfFirstTwo) => entries.len().min(2),
            _ => entries.len(),
        };
        if self.has(Bug::BySizes) {
            let sizes = entries.iter().fold(0, |sum: u64, entry| sum.wrapping_add(entry.end - entry.begin));
            return if sizes == stored { Ok(()) } else { Err("the sizes have another sum") };
        }
        if entries.is_empty() && self.has(Bug::DataWithoutTensors) {
            return Ok(());
        }
        let last = entries[..checked].last().map_or(0, |entry| entry.end);
        self.sort(&mut entries[..checked]);
        let end = self.chain(&entries[..checked])?;
        let end = if self.has(Bug::EndOfLastInHeader) { last } else { end };
        let end = if self.has(Bug::OffsetsFromFile) { end.saturating_sub(data as u64) } else { end };
        self.values(entries, &file[data..], data)?;
        if self.ends(end, stored, data as u64) { Ok(()) } else { Err("the data is longer or shorter") }
    }

    fn limits_count(self, count: usize) -> bool {
        match self.bug {
            Some(Bug::Tensors255) => count > 255,
            Some(Bug::NoTensorsRejected) => count == 0,
            _ => false,
        }
    }

    fn sort(self, entries: &mut [Entry]) {
        match self.bug {
            Some(Bug::HeaderOrderRequired) => {}
            Some(Bug::SortByBegin) => entries.sort_by_key(|entry| entry.begin),
            Some(Bug::SortByEnd) => entries.sort_by_key(|entry| entry.end),
            Some(Bug::SortByBeginOverTwelve) if entries.len() > 12 => {
                entries.sort_by_key(|entry| entry.begin);
            }
            Some(Bug::SortByBeginBackwards) => {
                entries.sort_by_key(|entry| (entry.begin, u64::MAX - entry.end));
            }
            Some(Bug::SortByName) => entries.sort_by(|one, other| one.name.cmp(&other.name)),
            Some(Bug::SortAsText) => entries.sort_by_key(|entry| (entry.begin.to_string(), entry.end)),
            Some(Bug::SortIn8) => entries.sort_by_key(|entry| (entry.begin & 0xFF, entry.end)),
            Some(Bug::SortOncePerTensor) => {
                // One pass of a bubble sort.
                for at in 1..entries.len() {
                    if (entries[at - 1].begin, entries[at - 1].end) > (entries[at].begin, entries[at].end) {
                        entries.swap(at - 1, at);
                    }
                }
            }
            _ => entries.sort_by_key(|entry| (entry.begin, entry.end)),
        }
    }

    /// Returns where the last tensor ends.
    fn chain(self, entries: &[Entry]) -> Result<u64, Why> {
        let mut next = 0;
        for (at, entry) in entries.iter().enumerate() {
            if self.ignores(entry) {
                continue;
            }
            if entry.begin > next && !self.hole(next, entry.begin, at == 0) {
                return Err("a hole");
            }
            if entry.begin < next && !self.overlap(next, entry, entries.get(at.wrapping_sub(1))) {
                return Err("an overlap");
            }
            next = if self.has(Bug::MaximumOfEnds) { entry.end.max(next) } else { entry.end };
        }
        Ok(next)
    }

    fn ignores(self, entry: &Entry) -> bool {
        let empty = entry.begin == entry.end;
        empty && self.has(Bug::EmptyAnywhere)
    }

    fn hole(self, next: u64, begin: u64, first: bool) -> bool {
        match self.bug {
            Some(Bug::HolesAccepted) => true,
            Some(Bug::FirstHoleAccepted | Bug::OffsetsFromFile) => first,
            Some(Bug::LaterHolesAccepted) => !first,
            Some(Bug::HoleOfOneAccepted) => begin - next == 1,
            Some(Bug::HoleAligned8Accepted) => next.next_multiple_of(8) == begin,
            Some(Bug::HoleBefore64Accepted) => begin - next < 64 && begin.is_multiple_of(4),
            _ => false,
        }
    }

    fn overlap(self, next: u64, entry: &Entry, before: Option<&Entry>) -> bool {
        let equal = before.is_some_and(|before| (before.begin, before.end) == (entry.begin, entry.end));
        match self.bug {
            Some(Bug::OverlapsAccepted | Bug::MaximumOfEnds) => true,
            Some(Bug::OverlapOfOneAccepted) => next - entry.begin == 1,
            Some(Bug::EqualRangesAccepted) => equal,
            Some(Bug::NestedRangesAccepted) => before.is_some_and(|before| entry.end <= before.end),
            Some(Bug::EmptyInsideAccepted) => entry.begin == entry.end,
            Some(Bug::SameBeginAccepted) => before.is_some_and(|before| before.begin == entry.begin),
            _ => false,
        }
    }

    fn ends(self, end: u64, stored: u64, data: u64) -> bool {
        match self.bug {
            Some(Bug::TrailingDataAccepted) => end <= stored,
            Some(Bug::TrailingByteAccepted) => end == stored || end + 1 == stored,
            Some(Bug::TrailingPaddingAccepted) => end <= stored && stored - end < 8,
            Some(Bug::MissingDataAccepted) => end >= stored,
            Some(Bug::MissingByteAccepted) => end == stored || end == stored + 1,
            Some(Bug::EndUnchecked) => true,
            Some(Bug::EndIn32) => end & 0xFFFF_FFFF == stored,
            Some(Bug::EndWraps) => end == stored || end.checked_add(data).is_none(),
            Some(Bug::EndOrZero) => end == stored || end == 0,
            _ => end == stored,
        }
    }

    /// Rejects what readers reject that look at alignment and at values.
    fn values(self, entries: &[Entry], data: &[u8], begin: usize) -> Result<(), Why> {
        let index = |at| usize::try_from(at).unwrap_or(usize::MAX);
        let bytes = |entry: &Entry| data.get(index(entry.begin)..index(entry.end)).unwrap_or_default();
        let wrong = |entry: &Entry| {
            let width = (entry.dtype.1 / 8).max(1);
            match self.bug {
                Some(Bug::UnalignedRejected) => !entry.begin.is_multiple_of(width),
                Some(Bug::UnalignedInFileRejected) => !(begin as u64 + entry.begin).is_multiple_of(width),
                Some(Bug::BoolChecked) => {
                    entry.dtype.0 == "BOOL" && bytes(entry).iter().any(|byte| *byte > 1)
                }
                Some(Bug::NanRejected) => {
                    let nan = |four: &[u8]| four[3] & 0x7F == 0x7F && four[2] & 0x80 != 0;
                    entry.dtype.0 == "F32" && bytes(entry).chunks_exact(4).any(nan)
                }
                Some(Bug::EmptyRejected) => entry.begin == entry.end,
                _ => false,
            }
        };
        if entries.iter().any(wrong) { Err("an unsupported tensor") } else { Ok(()) }
    }
}
