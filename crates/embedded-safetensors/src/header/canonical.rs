//! Headers that lie whole in memory, spelled as the reference spells them: read whole entries at a time, words of eight bytes at a time, in
//! tens of nanoseconds.
//!
//! Nothing is judged here. A header of which anything is spelled otherwise, or wrong, is left to the parser, which tells.

use super::usual::{Fields, WORDS, fields, metadata};
use super::{LARGE_SHORTCUTS, behind_plain};
use crate::error::MAX_HEADER_LEN;
use crate::tensor::info::Extent;
use crate::util::bytes::index_below;

/// The entries of a header, one by one.
pub(crate) struct Canonical<'a> {
    pub(crate) left: &'a [u8],
    /// Where the data begins.
    pub(crate) data_start: usize,
}

impl<'a> Canonical<'a> {
    /// Those of a file that begins as usual.
    #[inline]
    pub(crate) const fn of(file: &'a [u8]) -> Option<Self> {
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
    pub(crate) const fn next(&mut self) -> Option<Extent> {
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

    /// Whether all of them have been read, in a header of which it is known that nothing is behind them.
    pub(crate) const fn has_none_left(&self) -> bool {
        matches!(self.left, [b'}', ..])
    }

    /// Whether all of them have been read, and nothing is behind them but spaces.
    pub(crate) const fn is_at_end(&self) -> bool {
        let [b'}', spaces @ ..] = self.left else { return false };
        let mut left = spaces;
        while let [b' ', rest @ ..] = left {
            left = rest;
        }
        left.is_empty()
    }
}

/// Without `__metadata__` at the start, if those are spelled as usual and an entry or the end follows.
const fn behind_metadata(text: &[u8]) -> &[u8] {
    match metadata(text) {
        Some([b',', left @ ..]) if matches!(left, [b'"', ..]) => left,
        Some(left) if matches!(left, [b'}', ..]) => left,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    #[cfg_attr(safetensors_general, ignore = "there are no shortcuts")]
    #[cfg_attr(not(target_pointer_width = "64"), ignore = "there are no large ones")]
    fn the_usual_is_recognised() {
        let header = br#"{"__metadata__":{"format":"pt","a\\n": ""},"a.b":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"_b":{"dtype":"I8","shape":[],"data_offsets":[8,9]},"a, b}":{"dtype":"F8_E4M3","shape":[12345],"data_offsets":[9,12354]}}  "#;
        let file = [&(header.len() as u64).to_le_bytes(), &header[..], b"data"].concat();
        let mut entries = Canonical::of(&file).expect("it begins as usual");
        for range in [(0, 8), (8, 9), (9, 12354)] {
            assert!(!entries.is_at_end() && !entries.has_none_left());
            assert_eq!(entries.next().map(|place| (place.begin, place.end)), Some(range));
        }
        assert!(entries.next().is_none());
        assert!(entries.is_at_end() && entries.has_none_left());
        assert_eq!(entries.data_start, 8 + header.len());
    }
}
