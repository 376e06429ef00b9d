//! A canonical entry, recognised as a unit.
//!
//! A canonical entry has dtype, shape and offsets in this order, a name of ASCII without escapes, and no
//! white space except perhaps a space after each comma and colon. Writers spell headers like this. The
//! scanner gives the same results, several times as slowly. Where pointers have 64 bits, words of eight bytes
//! are faster than single bytes, and only there the code is worth the flash.

use super::grammar::State;
use super::number::digits;
use super::scanner::{HeaderParser, Reading, skip};
use crate::dtype::Dtype;
use crate::error::Field;
use crate::shape::{MAX_RANK, Shape};
use crate::tensor::info::{Extent, is_consistent};
use crate::util::bytes::{WORDS, low_u32};
use crate::util::text::after_plain;

// `entry` reads exactly these. If another became required, entries taken here would lack it.
const _: () = assert!(Field::REQUIRED == Field::Dtype.bit() | Field::Shape.bit() | Field::Offsets.bit());

/// The length of the shortest entry of a tensor, with the comma before it.
const SHORTEST: usize = r#","":{"dtype":"U8","shape":[],"data_offsets":[0,1]}"#.len();

/// A tensor of a canonical entry, whose dtype, shape and offsets agree.
#[derive(Clone, Copy)]
pub(crate) struct Whole<'i> {
    pub(crate) name: &'i [u8],
    pub(crate) dtype: Dtype,
    pub(crate) shape: Shape,
    pub(crate) place: Extent,
    /// The offset of the name's opening quote.
    pub(crate) name_at: u32,
}

impl HeaderParser {
    /// Takes the next member of the header, if `input` has all of it and it is a canonical entry of a tensor.
    /// This is equivalent to [`Signal::TensorEnd`](super::Signal::TensorEnd). On `None` at most the header's
    /// length was consumed, and [`advance`](Self::advance) must continue.
    #[inline]
    pub(crate) const fn take_entry<'i, const IN_CONST: bool>(
        &mut self,
        input: &mut &'i [u8],
    ) -> Option<Whole<'i>> {
        // With words this is faster only if they have eight bytes; with bytes, in const evaluation, always.
        if !(WORDS || IN_CONST) || input.len() < SHORTEST || !matches!(self.reading, Reading::Tensors) {
            return None;
        }
        if let State::Length = self.state {
            self.read_length(input);
        }
        let header = self.header_part(input);
        let text = match (self.state, header) {
            (State::AfterMember, [b',', b'"', text @ ..] | [b',', b' ', b'"', text @ ..])
            | (State::Header, [b'{', b'"', text @ ..]) => text,
            _ => return None,
        };
        let at = self.position + low_u32((header.len() - text.len()) as u64);
        let Some((entry, rest)) = entry::<IN_CONST>(text, at) else { return None };
        let taken = header.len() - rest.len();
        *input = skip(input, taken);
        self.position += low_u32(taken as u64);
        self.token = self.position - 1;
        self.state = State::AfterMember;
        self.set_extent(entry.dtype, &entry.place);
        Some(entry)
    }
}

/// Returns the entry at the start of `text`, which begins after the opening quote of its name, and the bytes
/// after the entry. Returns `None` if the entry is not canonical or not valid, if its name begins with two
/// underscores, if its shape has more than [`MAX_RANK`] dimensions, or if a dimension, or the product of
/// those before it, is 2^32 or more.
#[inline]
const fn entry<const IN_CONST: bool>(text: &[u8], at: u32) -> Option<(Whole<'_>, &[u8])> {
    // It may be `__metadata__`.
    if let [b'_', b'_', ..] = text {
        return None;
    }
    let quote = after_plain::<IN_CONST>(text);
    let Some((name, _)) = text.split_at_checked(text.len() - quote.len()) else { return None };
    let is_spaced = matches!(quote, [b'"', b':', b' ', ..]);
    let Some(rest) =
        after_part(Evaluation::<IN_CONST>, quote, is_spaced, b"\":{\"dtype\":\"", b"\": {\"dtype\": \"")
    else {
        return None;
    };
    let Some((dtype, len)) = Dtype::quoted(rest) else { return None };
    let rest = skip(rest, len as usize);
    let Some(rest) = after_part(Evaluation::<IN_CONST>, rest, is_spaced, b",\"shape\":[", b", \"shape\": [")
    else {
        return None;
    };
    let Some((shape, elements, rest)) = shape::<IN_CONST>(rest, is_spaced) else { return None };
    let Some(offsets) =
        after_part(Evaluation::<IN_CONST>, rest, is_spaced, b",\"data_offsets\":[", b", \"data_offsets\": [")
    else {
        return None;
    };
    let Some((begin, rest)) = number::<IN_CONST>(offsets) else { return None };
    let Some(rest) = after_comma(rest, is_spaced) else { return None };
    let Some((end, [b']', b'}', rest @ ..])) = number::<IN_CONST>(rest) else { return None };
    if !is_consistent(dtype, elements, begin, end) {
        return None;
    }
    let begin_at = at + low_u32((text.len() - offsets.len()) as u64);
    let place = Extent { begin, end, begin_at };
    Some((Whole { name, dtype, shape, place, name_at: at - 1 }, rest))
}

/// Returns the shape, the product of its dimensions, and the bytes after it.
#[inline(always)]
const fn shape<const IN_CONST: bool>(text: &[u8], is_spaced: bool) -> Option<(Shape, u64, &[u8])> {
    let mut sizes = [0; MAX_RANK];
    let (mut elements, mut rank, mut left) = (1u64, 0, text);
    if let [b']', rest @ ..] = left {
        return Some((Shape::of(sizes, 0), 1, rest));
    }
    let mut free: &mut [u64] = &mut sizes;
    while let [slot, others @ ..] = free {
        let Some((dim, rest)) = number::<IN_CONST>(left) else { return None };
        if (elements | dim) >> 32 != 0 {
            return None;
        }
        (elements, rank, free) = (elements * dim, rank + 1, others);
        *slot = dim;
        if let [b']', rest @ ..] = rest {
            return Some((Shape::of(sizes, rank), elements, rest));
        }
        left = match after_comma(rest, is_spaced) {
            Some(rest) => rest,
            None => return None,
        };
    }
    None
}

#[inline(always)]
const fn after_comma(text: &[u8], is_spaced: bool) -> Option<&[u8]> {
    match (text, is_spaced) {
        ([b',', b' ', rest @ ..], true) | ([b',', rest @ ..], false) => Some(rest),
        _ => None,
    }
}

/// Returns a number without a leading zero, and the bytes after it.
#[inline(always)]
const fn number<const IN_CONST: bool>(text: &[u8]) -> Option<(u64, &[u8])> {
    match text {
        [b'0', rest @ ..] => return Some((0, rest)),
        [b'1'..=b'9', ..] => {}
        _ => return None,
    }
    Some(digits::<IN_CONST>(0, text))
}

/// Where code runs: in programs, or in const evaluation. An argument, so that the parameters beside it
/// are inferred.
struct Evaluation<const IN_CONST: bool>;

/// Returns the bytes after this part of every entry, spelled without spaces or with them.
#[inline(always)]
const fn after_part<'t, const IN_CONST: bool, const DENSE: usize, const SPACED: usize>(
    _: Evaluation<IN_CONST>,
    text: &'t [u8],
    is_spaced: bool,
    dense: &[u8; DENSE],
    spaced: &[u8; SPACED],
) -> Option<&'t [u8]> {
    if IN_CONST {
        after_bytes(text, if is_spaced { spaced } else { dense })
    } else if is_spaced {
        after_words(text, spaced)
    } else {
        after_words(text, dense)
    }
}

/// Returns the bytes after `prefix`, if `text` begins with it.
const fn after_bytes<'t>(text: &'t [u8], prefix: &[u8]) -> Option<&'t [u8]> {
    let (mut left, mut prefix) = (text, prefix);
    while let [byte, prefix_rest @ ..] = prefix {
        let [first, rest @ ..] = left else { return None };
        if *first != *byte {
            return None;
        }
        (left, prefix) = (rest, prefix_rest);
    }
    Some(left)
}

/// As [`after_bytes`], with words, for a prefix of 8 to 24 bytes.
#[inline(always)]
const fn after_words<'t, const LEN: usize>(text: &'t [u8], prefix: &[u8; LEN]) -> Option<&'t [u8]> {
    let Some((front, rest)) = text.split_first_chunk::<LEN>() else { return None };
    let last = match (front.last_chunk(), prefix.last_chunk()) {
        (Some(front), Some(prefix)) => u64::from_le_bytes(*front) ^ u64::from_le_bytes(*prefix),
        _ => return None,
    };
    let is_same = last == 0
        && word_at::<0>(front) == word_at::<0>(prefix)
        && word_at::<8>(front) == word_at::<8>(prefix);
    if is_same { Some(rest) } else { None }
}

/// Returns the eight bytes at `AT` as a word, or 0 if there are fewer.
#[inline(always)]
const fn word_at<const AT: usize>(text: &[u8]) -> u64 {
    let Some((_, rest)) = text.split_at_checked(AT) else { return 0 };
    match rest.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => 0,
    }
}
