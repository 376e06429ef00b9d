//! Tensors found by their names in a header that is known to be spelled as usual all through: in tens of nanoseconds, for most of an entry
//! need not be looked at.

use super::quoted::{Quoted, are_equal};
use super::walk::Seen;
use crate::header::{Canonical, behind_bits, behind_plain, bits_to, dims, dtype, number};
use crate::shape::{MAX_RANK, Shape};
use crate::tensor::info::{Extent, TensorInfo};
use crate::util::bytes::low_u32;

/// The entries of such a header, one by one.
pub(super) struct Entries<'a>(Canonical<'a>);

impl<'a> Entries<'a> {
    /// As [`Canonical::of`].
    #[inline]
    pub(super) const fn of(file: &'a [u8]) -> Option<Self> {
        match Canonical::of(file) {
            Some(entries) => Some(Self(entries)),
            None => None,
        }
    }

    /// Goes on behind the name of the next one, and says whether it is this one, which has nothing but plain text in it.
    #[inline(always)]
    pub(super) const fn next_is(&mut self, name: &[u8]) -> Option<Option<Quoted<'a>>> {
        let [b'"', text @ ..] = self.0.left else { return None };
        let at = low_u32((self.0.data_start - self.0.left.len()) as u64);
        if let Some((own, rest @ [b'"', ..])) = text.split_at_checked(name.len()) {
            if are_equal(own, name) {
                self.0.left = rest;
                return Some(Some(Quoted::proven(own, at, true)));
            }
        }
        self.0.left = behind_plain(text);
        Some(None)
    }

    /// Passes over what is left of an entry, whose name was there before.
    #[inline(always)]
    pub(super) const fn pass(&mut self) {
        self.0.left = match behind_brace(self.0.left) {
            [b',', left @ ..] => left,
            left => left,
        };
    }

    /// The tensor whose name was there before.
    #[inline(always)]
    pub(super) const fn tensor(&mut self, name: Quoted<'a>) -> Option<Seen<'a>> {
        let Some((info, rest)) = proven_fields(self.0.left) else { return None };
        self.0.left = rest;
        Some(Seen { name, info, rank_at: 0 })
    }

    /// As [`Canonical::has_none_left`].
    pub(super) const fn has_none_left(&self) -> bool {
        self.0.has_none_left()
    }
}

/// Whether it can be the name of a usual entry as it is.
pub(super) const fn is_plain(name: &str) -> bool {
    behind_plain(name.as_bytes()).is_empty()
}

/// The tensor of an entry from the quote behind its name on, and what follows the offset that is read.
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

    use crate::header::LARGE_SHORTCUTS;
    use crate::validate::prove_canonical;
    use crate::values::native::Aligned;
    use crate::view::View;
    use crate::view::prove::prove;
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

    /// Whatever is changed: what is taken for sound is sound, and is what the parser says it is.
    #[test]
    fn it_takes_nothing_that_the_parser_refuses() {
        let sound = sound();
        let header = sound.len() - 12354;
        assert_eq!(prove_canonical(&sound).is_some(), LARGE_SHORTCUTS);
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
}
