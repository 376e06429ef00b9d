//! An entry of the canonical spelling, recognised at once.
//!
//! Canonical are dtype, shape and offsets in this order, names of ASCII without escapes, and no white space
//! but perhaps a space behind each comma and colon. Writers spell headers like this. The scanner would say
//! the same of them, several times as slowly: where pointers have 64 bits, words of eight bytes are faster
//! than single ones, and only there it is worth the flash.

use super::grammar::State;
use super::number::digits;
use super::scanner::{HeaderParser, Reading, behind};
use crate::dtype::Dtype;
use crate::error::Field;
use crate::shape::{MAX_RANK, Shape};
use crate::tensor::info::{Extent, mismatch};
use crate::util::bytes::{WORDS, low_u32};
use crate::util::text::behind_plain;

// `entry` reads exactly these. If another became required, entries taken here would lack it.
const _: () = assert!(Field::REQUIRED == Field::Dtype.bit() | Field::Shape.bit() | Field::Offsets.bit());

/// No entry of a tensor is shorter, with the comma before it.
const SHORTEST: usize = r#","":{"dtype":"U8","shape":[],"data_offsets":[0,1]}"#.len();

/// A tensor that agrees with itself, in an entry of the canonical spelling.
#[derive(Clone, Copy)]
pub(crate) struct Whole<'i> {
    pub(crate) name: &'i [u8],
    pub(crate) dtype: Dtype,
    pub(crate) shape: Shape,
    pub(crate) place: Extent,
    /// Where the name's opening quote stands.
    pub(crate) name_at: u32,
}

impl HeaderParser {
    /// Takes the next member of the header, if all of it stands in `input` and it is a tensor in the
    /// canonical spelling. This means what [`Signal::TensorEnd`](super::Signal::TensorEnd) does. On `None` at
    /// most the header's length was consumed, and [`advance`](Self::advance) must read on.
    #[inline]
    pub(crate) const fn take_entry<'i, const IN_CONST: bool>(
        &mut self,
        input: &mut &'i [u8],
    ) -> Option<Whole<'i>> {
        // By words it pays only where they have eight bytes; by bytes, in a compiler, always.
        if !(WORDS || IN_CONST) || input.len() < SHORTEST || !matches!(self.reading, Reading::Tensors) {
            return None;
        }
        if let State::Length = self.state {
            self.read_length(input);
        }
        let header = self.of_header(input);
        let text = match (self.state, header) {
            (State::AfterMember, [b',', b'"', text @ ..] | [b',', b' ', b'"', text @ ..])
            | (State::Header, [b'{', b'"', text @ ..]) => text,
            _ => return None,
        };
        let at = self.position + low_u32((header.len() - text.len()) as u64);
        let Some((entry, rest)) = entry::<IN_CONST>(text, at) else { return None };
        let taken = header.len() - rest.len();
        *input = behind(input, taken);
        self.position += low_u32(taken as u64);
        self.token = self.position - 1;
        self.state = State::AfterMember;
        self.take_place(entry.dtype, &entry.place);
        Some(entry)
    }
}

/// The entry at the start of `text`, which begins behind the opening quote of its name, and what follows it.
/// Nothing when it is spelled otherwise, when it is wrong, when its name begins with two underscores, when
/// its shape has more than [`MAX_RANK`] dimensions, or when a dimension, or the product of those before it,
/// is 2^32 or more.
#[inline]
const fn entry<const IN_CONST: bool>(text: &[u8], at: u32) -> Option<(Whole<'_>, &[u8])> {
    // It may be `__metadata__`.
    if let [b'_', b'_', ..] = text {
        return None;
    }
    let quote = behind_plain::<IN_CONST>(text);
    let Some((name, _)) = text.split_at_checked(text.len() - quote.len()) else { return None };
    let is_spaced = matches!(quote, [b'"', b':', b' ', ..]);
    let Some(rest) = part::<IN_CONST, _, _>(quote, is_spaced, b"\":{\"dtype\":\"", b"\": {\"dtype\": \"")
    else {
        return None;
    };
    let Some((dtype, rest)) = Dtype::quoted(rest) else { return None };
    let Some(rest) = part::<IN_CONST, _, _>(rest, is_spaced, b",\"shape\":[", b", \"shape\": [") else {
        return None;
    };
    let Some((shape, elements, rest)) = shape::<IN_CONST>(rest, is_spaced) else { return None };
    let Some(offsets) =
        part::<IN_CONST, _, _>(rest, is_spaced, b",\"data_offsets\":[", b", \"data_offsets\": [")
    else {
        return None;
    };
    let Some((begin, rest)) = number::<IN_CONST>(offsets) else { return None };
    let Some(rest) = behind_comma(rest, is_spaced) else { return None };
    let Some((end, [b']', b'}', rest @ ..])) = number::<IN_CONST>(rest) else { return None };
    if mismatch(dtype, elements, begin, end).is_some() {
        return None;
    }
    let begin_at = at + low_u32((text.len() - offsets.len()) as u64);
    let place = Extent { begin, end, begin_at };
    Some((Whole { name, dtype, shape, place, name_at: at - 1 }, rest))
}

/// The shape, the product of its dimensions and what follows it.
#[inline(always)]
const fn shape<const IN_CONST: bool>(text: &[u8], is_spaced: bool) -> Option<(Shape, u64, &[u8])> {
    let mut sizes = [0; MAX_RANK];
    let (mut elements, mut rank, mut left) = (1u64, 0, text);
    if let [b']', rest @ ..] = left {
        return Some((Shape::of(sizes, 0), 1, rest));
    }
    let mut room: &mut [u64] = &mut sizes;
    while let [slot, others @ ..] = room {
        let Some((dim, rest)) = number::<IN_CONST>(left) else { return None };
        if (elements | dim) >> 32 != 0 {
            return None;
        }
        (elements, rank, room) = (elements * dim, rank + 1, others);
        *slot = dim;
        if let [b']', rest @ ..] = rest {
            return Some((Shape::of(sizes, rank), elements, rest));
        }
        left = match behind_comma(rest, is_spaced) {
            Some(rest) => rest,
            None => return None,
        };
    }
    None
}

#[inline(always)]
const fn behind_comma(text: &[u8], is_spaced: bool) -> Option<&[u8]> {
    match (text, is_spaced) {
        ([b',', b' ', rest @ ..], true) | ([b',', rest @ ..], false) => Some(rest),
        _ => None,
    }
}

/// A number without a leading zero, and what follows it.
#[inline(always)]
const fn number<const IN_CONST: bool>(text: &[u8]) -> Option<(u64, &[u8])> {
    match text {
        [b'0', rest @ ..] => return Some((0, rest)),
        [b'1'..=b'9', ..] => {}
        _ => return None,
    }
    Some(digits::<IN_CONST>(0, text))
}

/// What follows this part of every entry, spelled without spaces or with them.
#[inline(always)]
const fn part<'t, const IN_CONST: bool, const DENSE: usize, const SPACED: usize>(
    text: &'t [u8],
    is_spaced: bool,
    dense: &[u8; DENSE],
    spaced: &[u8; SPACED],
) -> Option<&'t [u8]> {
    if IN_CONST {
        behind_bytes(text, if is_spaced { spaced } else { dense })
    } else if is_spaced {
        behind_text(text, spaced)
    } else {
        behind_text(text, dense)
    }
}

/// What follows `due`, if `text` begins with it.
const fn behind_bytes<'t>(text: &'t [u8], due: &[u8]) -> Option<&'t [u8]> {
    let (mut left, mut due) = (text, due);
    while let [byte, due_rest @ ..] = due {
        let [first, rest @ ..] = left else { return None };
        if *first != *byte {
            return None;
        }
        (left, due) = (rest, due_rest);
    }
    Some(left)
}

/// As [`behind_bytes`], by words, of 8 to 24 bytes.
#[inline(always)]
const fn behind_text<'t, const LEN: usize>(text: &'t [u8], due: &[u8; LEN]) -> Option<&'t [u8]> {
    let Some((front, rest)) = text.split_first_chunk::<LEN>() else { return None };
    let last = match (front.last_chunk(), due.last_chunk()) {
        (Some(front), Some(due)) => u64::from_le_bytes(*front) ^ u64::from_le_bytes(*due),
        _ => return None,
    };
    let is_same =
        last == 0 && word_at::<0>(front) == word_at::<0>(due) && word_at::<8>(front) == word_at::<8>(due);
    if is_same { Some(rest) } else { None }
}

/// The eight bytes there; 0 where there are fewer.
#[inline(always)]
const fn word_at<const AT: usize>(text: &[u8]) -> u64 {
    let Some((_, rest)) = text.split_at_checked(AT) else { return 0 };
    match rest.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => 0,
    }
}
