//! Shortcuts past the parser, for what stands whole in the input: the start of a name, and the fields of an entry as all writers
//! spell them, with or without a space behind commas and colons, in any order. What they take at once the parser would take byte
//! by byte, and be where they leave it; what they do not know they leave to it.

use super::machine::{HeaderParser, Signal, skip};
use super::schema::{Inside, State, Want};
use super::usual::spaced;
use super::{SHORTCUTS, WORDS};
use crate::dtype::Dtype;
use crate::error::Field;
use crate::util::bytes::low_u32;

impl HeaderParser {
    /// Whether fields of an entry may be next, and nobody listens to what they say, but for a shape.
    pub(super) const fn may_be_short(&self) -> bool {
        SHORTCUTS
            && self.tells_at_most_dims()
            && matches!(
                (self.state, self.inside),
                (State::Colon, Inside::Header) | (State::After, Inside::Entry)
            )
    }

    /// Whether an entry may be next, and nobody listens to more of it than its shape.
    pub(super) const fn is_behind_tensor(&self) -> bool {
        SHORTCUTS
            && self.tells_at_most_dims()
            && matches!((self.state, self.inside), (State::After, Inside::Header))
    }

    /// Takes fields that stand whole at the start of `input`, and the bracket behind the last: then this is [`Signal::TensorEnd`].
    #[inline(never)] // beside the machine, not upon it: what both need does not stand on the stack at once
    pub(super) const fn take_fields(&mut self, input: &mut &[u8]) -> Signal {
        let left = self.of_header(input);
        let (first, mut fields) = match (self.state, left) {
            (State::Colon, [b':', rest @ ..]) if matches!(self.want, Want::Entry) => match spaced(rest) {
                [b'{', first @ ..] => (first, 0),
                _ => return Signal::Taken,
            },
            (State::After, [b',', rest @ ..]) => (spaced(rest), self.fields),
            _ => return Signal::Taken,
        };
        let end = self.position + low_u32(left.len() as u64);
        let (mut next, mut behind, mut signal) = (first, left, Signal::Taken);
        while let Some((field, rest)) = self.take_field(next, fields, end) {
            (fields, behind) = (fields | field.bit(), rest);
            next = match rest {
                [b',', rest @ ..] => spaced(rest),
                [b'}', rest @ ..] if fields == 0b111 => {
                    (behind, signal) = (rest, Signal::TensorEnd);
                    break;
                }
                _ => break,
            };
        }
        if behind.len() < left.len() {
            self.state = State::After;
            self.fields = fields;
            self.inside = Inside::Entry;
            if signal as u8 == Signal::TensorEnd as u8 {
                self.inside = Inside::Header;
                // The name of the next, unless all of its entry may be taken at once.
                if let [b',', rest @ ..] = behind {
                    match spaced(rest) {
                        [b'"', name @ ..] if !WORDS || name.len() + 1 < rest.len() => {
                            self.want = Want::Name;
                            self.begin_string();
                            behind = name;
                        }
                        _ => {}
                    }
                }
            }
            self.position = end - low_u32(behind.len() as u64);
            self.token = self.position - 1;
            skip(input, left.len() - behind.len());
        }
        signal
    }

    /// The field at the start of `text`, if it is not one of `fields`, and what follows it. `end` is the place where `text` ends.
    #[inline(always)]
    const fn take_field<'i>(&mut self, text: &'i [u8], fields: u8, end: u32) -> Option<(Field, &'i [u8])> {
        let Some((field, text)) = field(text) else { return None };
        if fields & field.bit() != 0 {
            return None;
        }
        let rest = match (field, spaced(text)) {
            (Field::Dtype, [b'"', text @ ..]) => self.take_dtype(text),
            (Field::Shape, [b'[', numbers @ ..]) if !self.tells_dims() => self.take_shape(numbers, end),
            (Field::Offsets, [b'[', numbers @ ..]) => self.take_offsets(numbers, end),
            _ => None,
        };
        match rest {
            Some(rest) => Some((field, rest)),
            None => None,
        }
    }

    #[inline(always)]
    const fn take_dtype<'i>(&mut self, text: &'i [u8]) -> Option<&'i [u8]> {
        let Some((dtype, rest)) = Dtype::quoted(text) else { return None };
        self.dtype = dtype;
        Some(rest)
    }

    /// `end` is the place where `numbers` end.
    #[inline(always)]
    const fn take_shape<'i>(&mut self, numbers: &'i [u8], end: u32) -> Option<&'i [u8]> {
        let Some((elements, rest)) = product(numbers) else { return None };
        self.elements = elements as u64;
        self.shape_at = end - low_u32(numbers.len() as u64) - 1;
        Some(rest)
    }

    /// `end` is the place where `numbers` end.
    #[inline(always)]
    const fn take_offsets<'i>(&mut self, numbers: &'i [u8], end: u32) -> Option<&'i [u8]> {
        let (begin, [b',', rest @ ..]) = behind_number(numbers) else { return None };
        let (range_end, [b']', rest @ ..]) = behind_number(spaced(rest)) else { return None };
        (self.begin, self.range_end) = (begin as u64, range_end as u64);
        self.begin_at = end - low_u32(numbers.len() as u64);
        Some(rest)
    }
}

/// The name of a field, its colon and what follows them.
#[inline(always)]
const fn field(text: &[u8]) -> Option<(Field, &[u8])> {
    const DTYPE: [u32; 2] = [four(b"\"dty"), four(b"pe\":")];
    const SHAPE: [u32; 2] = [four(b"\"sha"), four(b"pe\":")];
    const OFFSETS: [u32; 2] = [four(b"\"dat"), four(b"a_of")];
    let [a, b, c, d, e, f, g, h, rest @ ..] = text else { return None };
    match ([four(&[*a, *b, *c, *d]), four(&[*e, *f, *g, *h])], rest) {
        (DTYPE, _) => Some((Field::Dtype, rest)),
        (SHAPE, _) => Some((Field::Shape, rest)),
        (OFFSETS, [b'f', b's', b'e', b't', b's', b'"', b':', rest @ ..]) => Some((Field::Offsets, rest)),
        _ => None,
    }
}

/// Four bytes to be compared at once.
const fn four(bytes: &[u8; 4]) -> u32 {
    u32::from_le_bytes(*bytes)
}

/// The product of the numbers up to a bracket, if they are all small, and what follows that.
#[inline(always)]
const fn product(numbers: &[u8]) -> Option<(u32, &[u8])> {
    if let [b']', rest @ ..] = numbers {
        return Some((1, rest));
    }
    let (mut product, mut left) = (1u32, numbers);
    loop {
        let (number, rest) = behind_number(left);
        let more = product as u64 * number as u64;
        if more >> 32 != 0 {
            return None;
        }
        product = low_u32(more);
        left = match rest {
            [b',', rest @ ..] => spaced(rest),
            [b']', rest @ ..] => return Some((product, rest)),
            _ => return None,
        }
    }
}

/// The number at the start and what follows it; nothing follows where none is.
#[inline(always)]
const fn behind_number(text: &[u8]) -> (u32, &[u8]) {
    let (number, len) = number(text);
    match text.split_at_checked(len) {
        Some(([_, ..], rest)) => (number, rest),
        _ => (0, &[]),
    }
}

/// The number at the start and how many digits it has: none where it is not one, or not far below the largest.
#[inline(never)]
const fn number(text: &[u8]) -> (u32, usize) {
    let (mut number, mut left) = (0u32, text);
    while let [digit @ b'0'..=b'9', rest @ ..] = left {
        number = number.wrapping_mul(10).wrapping_add((*digit & 0x0F) as u32);
        left = rest;
    }
    match (text, text.len() - left.len()) {
        (_, 10..) | ([b'0', ..], 2..) => (0, 0),
        (_, digits) => (number, digits),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::{format, string::String};

    /// A parser behind the name of the first tensor, which is told only where tensors are.
    fn behind_name(header: &str) -> (HeaderParser, String) {
        let mut parser = HeaderParser::new();
        let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
        let (mut input, mut run) = (&file[..], &[][..]);
        while parser.advance(&mut input, &mut run) != Signal::Tensor {}
        parser.told = Signal::TensorEnd.bit();
        (parser, String::from_utf8(input.to_vec()).expect("it is text"))
    }

    /// How much of the header the shortcut leaves, and whether it took an entry to its end.
    fn taken(header: &str) -> (String, bool) {
        let (mut parser, text) = behind_name(header);
        let mut left = text.as_bytes();
        let ends = parser.may_be_short() && parser.take_fields(&mut left) == Signal::TensorEnd;
        (String::from_utf8(left.to_vec()).expect("it is text"), ends)
    }

    #[test]
    #[cfg_attr(safetensors_general, ignore = "there are no shortcuts")]
    fn an_entry_is_taken_in_any_order_with_and_without_spaces() {
        for entry in [
            r#":{"dtype":"F32","shape":[2,16],"data_offsets":[0,128]}"#,
            r#": {"dtype": "F32", "shape": [2, 16], "data_offsets": [0, 128]}"#,
            r#":{"data_offsets":[0,128],"shape":[2,16],"dtype":"F32"}"#,
            r#":{"shape":[],"data_offsets":[12,16],"dtype":"F32"}"#,
        ] {
            assert_eq!(taken(&format!(r#"{{"a"{entry},"b""#)), (String::from(r#","b""#), true), "{entry}");
        }
    }

    /// What the parser must judge, or what does not stand there whole, stays where it is, from the border of a field on.
    #[test]
    #[cfg_attr(safetensors_general, ignore = "there are no shortcuts")]
    fn what_is_not_known_is_left() {
        for left in [
            r#":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}"#,
            r#":  {"dtype":"F32","shape":[2],"data_offsets":[0,8]}"#,
            r#":,{"dtype":"F32""#,
            r#",,"shape":[2],"data_offsets":[0,8]}"#,
            r#",:"shape":[2],"data_offsets":[0,8]}"#,
            r#",  "shape":[2],"data_offsets":[0,8]}"#,
            r#","shape" :[2],"data_offsets":[0,8]}"#,
            r#","shape":[ 2],"data_offsets":[0,8]}"#,
            r#","shape":[2,],"data_offsets":[0,8]}"#,
            r#","shape":[02],"data_offsets":[0,8]}"#,
            r#","shape":[65536,65536],"data_offsets":[0,8]}"#,
            r#","shape":[2"#,
            r#","dtype":"F32"}"#,
            r#","data_offsets":[0,8,9]}"#,
            r#","data_offsets":[8]}"#,
            r#","sizes":[2]}"#,
            r#"}"#,
            r#" ,"shape":[2]"#,
        ] {
            let before = if left.starts_with(':') { "" } else { r#":{"dtype":"F32""# };
            let header = format!(r#"{{"a"{before}{left}"#);
            assert_eq!(taken(&header), (String::from(left), false), "{header}");
        }
        // A field may not come instead of a colon.
        assert_eq!(taken(r#"{"a","dtype":"F32""#), (String::from(r#","dtype":"F32""#), false));
    }

    #[test]
    #[cfg_attr(safetensors_general, ignore = "there are no shortcuts")]
    fn the_parser_knows_what_it_would_have_read() {
        let header = r#"{"a":{"dtype":"F16","shape":[2,16],"data_offsets":[64,128]}}"#;
        let (mut fast, text) = behind_name(header);
        let (mut slow, _) = behind_name(header);
        let mut left = text.as_bytes();
        assert!(fast.take_fields(&mut left) == Signal::TensorEnd);
        let mut run = &[][..];
        for byte in text.as_bytes() {
            slow.advance(&mut core::slice::from_ref(byte), &mut run);
            if slow.position() == fast.position() {
                break;
            }
        }
        let known = |parser: &HeaderParser| {
            let HeaderParser { begin, range_end, begin_at, shape_at, token, dtype, fields, .. } = *parser;
            (begin, range_end, begin_at, shape_at, token, dtype, fields)
        };
        assert_eq!(known(&fast), known(&slow));
    }
}
