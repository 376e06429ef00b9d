//! Headers spelled as the reference spells them, in memory: read whole entries at a time, words of eight bytes at a time, in tens of nanoseconds.
//!
//! Nothing is judged here. A header of which anything is spelled otherwise, or wrong, is left to the parser, which tells.

use super::quoted::Quoted;
use super::walk::Seen;
use crate::bytes::{index_below, low_u32};
use crate::error::MAX_HEADER_LEN;
use crate::header::{
    Fields, LARGE_SHORTCUTS, WORDS, behind_bits, behind_plain, bits_to, dims, dtype, fields, metadata, number,
};
use crate::info::{Extent, TensorInfo};
use crate::shape::{MAX_RANK, Shape};

/// The entries of a header, one by one.
pub(super) struct Entries<'a> {
    left: &'a [u8],
    /// Where the data begins.
    pub(super) data_start: usize,
}

impl<'a> Entries<'a> {
    /// Those of a file that begins as usual.
    #[inline]
    pub(super) const fn of(file: &'a [u8]) -> Option<Self> {
        let Some((len, rest)) = file.split_first_chunk() else { return None };
        let Some(len) = index_below(u64::from_le_bytes(*len), rest.len() + 1) else { return None };
        if !LARGE_SHORTCUTS || len as u64 > MAX_HEADER_LEN {
            return None;
        }
        match rest.split_at_checked(len) {
            Some(([b'{', left @ ..], _)) => Some(Self { left: behind_metadata(left), data_start: len + 8 }),
            _ => None,
        }
    }

    /// Where the next one's tensor lies, which agrees with itself; nothing at the end, and where it is not a usual one.
    #[inline(always)]
    pub(super) const fn next(&mut self) -> Option<Extent> {
        let [b'"', text @ ..] = self.left else { return None };
        // It may be `__metadata__`.
        if let [b'_', b'_', ..] = text {
            return None;
        }
        let Some(Fields { begin, end, rest, .. }) = fields::<WORDS>(behind_plain(text)) else { return None };
        self.left = match rest {
            [b',', left @ ..] if matches!(left, [b'"', ..]) => left,
            [b'}', ..] => rest,
            _ => return None,
        };
        Some(Extent { begin, end, begin_at: 0 })
    }

    /// Goes on behind the name of the next one, and says whether it is this one, which has nothing but plain text in it. In a header of which it
    /// is known that all of them are usual ones.
    #[inline(always)]
    pub(super) const fn next_is(&mut self, name: &[u8]) -> Option<Option<Quoted<'a>>> {
        let [b'"', text @ ..] = self.left else { return None };
        let at = low_u32((self.data_start - self.left.len()) as u64);
        if let Some((own, rest @ [b'"', ..])) = text.split_at_checked(name.len()) {
            if are_equal(own, name) {
                self.left = rest;
                return Some(Some(Quoted::proven(own, at, true)));
            }
        }
        self.left = behind_plain(text);
        Some(None)
    }

    /// Passes over what is left of an entry, whose name was there before.
    #[inline(always)]
    pub(super) const fn pass(&mut self) {
        self.left = match behind_brace(self.left) {
            [b',', left @ ..] => left,
            left => left,
        };
    }

    /// The tensor whose name was there before.
    #[inline(always)]
    pub(super) const fn tensor(&mut self, name: Quoted<'a>) -> Option<Seen<'a>> {
        let Some((info, rest)) = proven_fields(self.left) else { return None };
        self.left = rest;
        Some(Seen { name, info, rank_at: 0 })
    }

    /// Whether all of them have been read, in a header of which it is known that nothing is behind them.
    pub(super) const fn has_none_left(&self) -> bool {
        matches!(self.left, [b'}', ..])
    }

    /// Whether all of them have been read, and nothing is behind them but spaces.
    pub(super) const fn is_at_end(&self) -> bool {
        let [b'}', spaces @ ..] = self.left else { return false };
        let mut left = spaces;
        while let [b' ', rest @ ..] = left {
            left = rest;
        }
        left.is_empty()
    }
}

/// Whether two texts of one length are the same.
#[inline(always)]
const fn are_equal(mut own: &[u8], mut other: &[u8]) -> bool {
    while let (Some((a, behind_a)), Some((b, behind_b))) =
        (own.split_first_chunk(), other.split_first_chunk())
    {
        if u64::from_le_bytes(*a) != u64::from_le_bytes(*b) {
            return false;
        }
        (own, other) = (behind_a, behind_b);
    }
    while let ([a, behind_a @ ..], [b, behind_b @ ..]) = (own, other) {
        if *a != *b {
            return false;
        }
        (own, other) = (behind_a, behind_b);
    }
    true
}

/// Whether it can be the name of a usual entry as it is.
pub(super) const fn is_plain(name: &str) -> bool {
    behind_plain(name.as_bytes()).is_empty()
}

/// Without `__metadata__` at the start, if those are spelled as usual and an entry or the end follows.
const fn behind_metadata(text: &[u8]) -> &[u8] {
    match metadata(text) {
        Some([b',', left @ ..]) if matches!(left, [b'"', ..]) => left,
        Some(left) if matches!(left, [b'}', ..]) => left,
        _ => text,
    }
}

/// As [`fields`], in an entry of which it is known that it is a usual one that agrees with itself; and what follows the offset that is
/// read.
#[inline(always)]
const fn proven_fields(at_quote: &[u8]) -> Option<(TensorInfo, &[u8])> {
    let Some((_, text)) = at_quote.split_at_checked("\":{\"dtype\":\"".len()) else { return None };
    let Some((dtype, text)) = dtype::<false>(text) else { return None };
    let Some((_, text)) = text.split_at_checked(",\"shape\":[".len()) else { return None };
    let mut sizes = [0; MAX_RANK];
    let Some((elements, rank, text)) = dims::<false>(text, &mut sizes) else { return None };
    let Some((_, text)) = text.split_at_checked(",\"data_offsets\":[".len()) else { return None };
    let Some((begin, rest)) = number::<false>(text) else { return None };
    let end = begin + ((elements * dtype.bits() as u64) >> 3); // of 18 digits, of 32 bits and of 8
    let place = Extent { begin, end, begin_at: 0 };
    Some((TensorInfo::checked(dtype, Shape::of(sizes, rank), place), rest))
}

/// What follows the first closing brace.
#[inline(always)]
const fn behind_brace(text: &[u8]) -> &[u8] {
    let mut left = text;
    while let Some((word, rest)) = left.split_first_chunk() {
        if let Some(bits) = bits_to(u64::from_le_bytes(*word), b'}') {
            return behind_bits(left, bits);
        }
        left = rest;
    }
    while let [byte, rest @ ..] = left {
        left = rest;
        if *byte == b'}' {
            break;
        }
    }
    left
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::native::Aligned;
    use crate::view::View;
    use crate::view::prove::{prove, prove_canonical};
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    fn file(header: &str, data: usize) -> Vec<u8> {
        let mut file = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
        file.resize(file.len() + data, 0);
        file
    }

    fn entry(name: &str, dtype: &str, shape: &str, range: &str) -> String {
        format!(r#""{name}":{{"dtype":"{dtype}","shape":[{shape}],"data_offsets":[{range}]}}"#)
    }

    /// The canonical header, and what is in it.
    fn sound() -> Vec<u8> {
        let entries = [
            entry("layers.10.attention.weight", "F32", "2,1", "0,8"),
            entry("_b", "I8", "", "8,9"),
            entry("a, b}", "F8_E4M3", "12345", "9,12354"),
        ];
        let metadata = r#""__metadata__":{"format":"pt","a\\n": ""}"#;
        file(&format!("{{{metadata},{}}}   ", entries.join(",")), 12354)
    }

    #[test]
    fn the_usual_is_recognised() {
        if !LARGE_SHORTCUTS {
            return;
        }
        let file = sound();
        let mut entries = Entries::of(&file).expect("it begins as usual");
        let mut next = || entries.next().map(|place| (place.begin, place.end));
        assert_eq!(next(), Some((0, 8)));
        assert_eq!(next(), Some((8, 9)));
        assert_eq!(next(), Some((9, 12354)));
        assert_eq!(next(), None);
        assert!(entries.is_at_end() && entries.has_none_left());
        assert!(prove_canonical(&file).is_some());
    }

    /// Whatever is changed: what is taken for sound is sound, and is what the parser says it is.
    #[test]
    fn it_takes_nothing_that_the_parser_refuses() {
        let sound = sound();
        let header = sound.len() - 12354;
        for at in 0..header {
            for byte in
                (0..=255).step_by(if at < 8 { 1 } else { 3 }).chain(*b"\"\\{}[],: 0123456789x_\x1F\x7F\x80")
            {
                let mut file = sound.clone();
                file[at] = byte;
                let parsed = prove(Aligned::anywhere(&file), &mut []).map(|proof| proof.summary);
                if let Some(summary) = prove_canonical(&file) {
                    assert_eq!(parsed, Ok(summary), "byte {at} is {byte}");
                    check_lookups(&file);
                }
            }
        }
    }

    fn check_lookups(file: &[u8]) {
        let view = View::parse(file).expect("it is sound");
        let two = r#"_b":{"dtype":"I8","shape":[],"data_offsets":[8,9]},"a, b}"#;
        for name in ["layers.10.attention.weight", "_b", "a, b}", "", "c", "_b\\", "__metadata__", two] {
            let (found, walked) = (view.find(name), view.seek_in_header(name));
            let found = found.map(|found| found.map(|tensor| (tensor.name().at(), *tensor.info())));
            let walked = walked.map(|found| found.map(|seen| (seen.name.at(), seen.info)));
            assert_eq!(found, walked, "{name}");
        }
    }

    #[test]
    fn names_that_occur_twice_are_found_out() {
        let header = format!("{{{},{}}}", entry("a", "U8", "1", "0,1"), entry("a", "U8", "1", "1,2"));
        let file = file(&header, 2);
        let view = View::parse(&file).expect("it is sound but for the names");
        assert_eq!(view.find("a").map(drop), view.seek_in_header("a").map(drop));
        assert!(view.find("a").is_err() && view.tensor("a").is_err());
    }

    #[test]
    fn numbers_are_what_the_standard_library_reads() {
        let mut numbers: Vec<u64> = (0..60).flat_map(|bit| [(1 << bit) - 1, 1 << bit]).collect();
        numbers.extend((0..18).flat_map(|power| [10u64.pow(power) - 1, 10u64.pow(power)]));
        for number_due in numbers {
            for behind in [",", "]", "", "]}}   ", ":0123456", "/", "\u{80}"] {
                let text = format!("{number_due}{behind}");
                let read = number::<WORDS>(text.as_bytes());
                assert_eq!(read, Some((number_due, behind.as_bytes())), "{text}");
            }
        }
        for text in ["", "00", "01", "-1", "a", "1000000000000000000", "9999999999999999999999"] {
            let is_number = matches!(number::<WORDS>(text.as_bytes()), Some((_, [])));
            assert!(!is_number, "{text}");
        }
    }
}
