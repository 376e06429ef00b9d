//! Shortcuts past the parser, for what stands whole in the input: the start of a name, and the fields of an entry as all writers
//! spell them, with or without a space behind commas and colons, in any order. What they take at once the parser would take byte
//! by byte, and be where they leave it; what they do not know they leave to it.

use super::SHORTCUTS;
use super::machine::HeaderParser;
use super::schema::{Inside, State, Want};
use crate::bytes::low_u32;
use crate::dtype::Dtype;
use crate::error::Field;

impl HeaderParser {
    /// Takes what it can of the start of `left`, behind a member or at a colon. Whether that ends an entry.
    #[inline(always)]
    pub(super) const fn take_shortcut(&mut self, left: &mut &[u8]) -> bool {
        match (self.state, self.inside, *left) {
            _ if !SHORTCUTS => false,
            (State::After, Inside::Entry, [b',' | b'}', ..]) if self.tells_no_fields() => {
                self.take_fields(left, None)
            }
            (State::Colon, Inside::Header, [b':', rest @ ..]) if self.tells_no_fields() => {
                match (self.want, spaced(rest)) {
                    (Want::Entry, [b'{', first @ ..]) => self.take_fields(left, Some(first)),
                    _ => false,
                }
            }
            (State::After, Inside::Header, [b',', rest @ ..]) => {
                if let quoted @ [b'"', name @ ..] = spaced(rest) {
                    self.want = Want::Name;
                    self.take_to(left, quoted);
                    self.begin_string();
                    self.take_to(left, name);
                }
                false
            }
            _ => false,
        }
    }

    /// Takes fields that stand whole at the start of `left`, and the bracket behind the last. Whether it came to that. `first` is
    /// the first field of an entry, where that comes next.
    #[inline(never)]
    const fn take_fields<'i>(&mut self, left: &mut &'i [u8], first: Option<&'i [u8]>) -> bool {
        let mut next = first;
        if next.is_some() {
            self.fields = 0;
        }
        loop {
            let text = match (next, *left) {
                (Some(text), _) => text,
                (None, [b',', rest @ ..]) => spaced(rest),
                (None, [b'}', rest @ ..]) if self.fields == 0b111 => {
                    self.token = self.position;
                    self.inside = Inside::Header;
                    self.take_to(left, rest);
                    return true;
                }
                _ => return false,
            };
            let Some(rest) = self.take_field(left, text) else { return false };
            self.take_to(left, rest);
            self.inside = Inside::Entry;
            self.state = State::After;
            next = None;
        }
    }

    /// What follows the field at the start of `text`, a part of `left`.
    #[inline(always)]
    const fn take_field<'i>(&mut self, left: &[u8], text: &'i [u8]) -> Option<&'i [u8]> {
        let Some((field, text)) = field(text) else { return None };
        if self.fields & field.bit() != 0 {
            return None;
        }
        let at = self.position + low_u32(left.len() as u64);
        let rest = match (field, spaced(text)) {
            (Field::Dtype, [b'"', text @ ..]) => self.take_dtype(text),
            (Field::Shape, [b'[', numbers @ ..]) => self.take_shape(numbers, at),
            (Field::Offsets, [b'[', numbers @ ..]) => self.take_offsets(numbers, at),
            _ => None,
        };
        if rest.is_some() {
            self.fields |= field.bit();
        }
        rest
    }

    const fn take_dtype<'i>(&mut self, text: &'i [u8]) -> Option<&'i [u8]> {
        let Some((dtype, rest)) = Dtype::quoted(text) else { return None };
        self.dtype = dtype;
        Some(rest)
    }

    /// `end` is the place where `numbers` end.
    const fn take_shape<'i>(&mut self, numbers: &'i [u8], end: u32) -> Option<&'i [u8]> {
        let Some((elements, rest)) = product(numbers) else { return None };
        self.elements = elements as u64;
        self.shape_at = end - low_u32(numbers.len() as u64) - 1;
        Some(rest)
    }

    /// `end` is the place where `numbers` end.
    const fn take_offsets<'i>(&mut self, numbers: &'i [u8], end: u32) -> Option<&'i [u8]> {
        let Some((begin, [b',', rest @ ..])) = number(numbers) else { return None };
        let Some((range_end, [b']', rest @ ..])) = number(spaced(rest)) else { return None };
        self.begin = begin as u64;
        self.begin_at = end - low_u32(numbers.len() as u64);
        self.range_end = range_end as u64;
        Some(rest)
    }

    pub(super) const fn take_to<'i>(&mut self, left: &mut &'i [u8], rest: &'i [u8]) {
        self.position += low_u32((left.len() - rest.len()) as u64);
        *left = rest;
    }
}

/// Without a space at the start.
const fn spaced(text: &[u8]) -> &[u8] {
    match text {
        [b' ', rest @ ..] => rest,
        _ => text,
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
const fn product(numbers: &[u8]) -> Option<(u32, &[u8])> {
    if let [b']', rest @ ..] = numbers {
        return Some((1, rest));
    }
    let (mut product, mut left) = (1u32, numbers);
    loop {
        let Some((number, rest)) = number(left) else { return None };
        let more = product as u64 * low_u32(number as u64) as u64;
        if (more | number as u64) >> 32 != 0 {
            return None;
        }
        product = low_u32(more);
        match rest {
            [b',', rest @ ..] => left = spaced(rest),
            [b']', rest @ ..] => return Some((product, rest)),
            _ => return None,
        }
    }
}

/// A number that is far below the largest, and what follows it.
#[inline(never)]
const fn number(text: &[u8]) -> Option<(usize, &[u8])> {
    let mut left = match text {
        [b'0', rest @ ..] => return Some((0, rest)),
        [b'1'..=b'9', ..] => text,
        _ => return None,
    };
    let mut number = 0;
    while let [digit @ b'0'..=b'9', rest @ ..] = left {
        if number >> (usize::BITS - 4) != 0 {
            return None;
        }
        number = number * 10 + (*digit & 0x0F) as usize;
        left = rest;
    }
    Some((number, left))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::header::Signal;
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
        let ends = parser.take_shortcut(&mut left);
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
    }

    #[test]
    #[cfg_attr(safetensors_general, ignore = "there are no shortcuts")]
    fn the_parser_knows_what_it_would_have_read() {
        let header = r#"{"a":{"dtype":"F16","shape":[2,16],"data_offsets":[64,128]}}"#;
        let (mut fast, text) = behind_name(header);
        let (mut slow, _) = behind_name(header);
        let mut left = text.as_bytes();
        assert!(fast.take_shortcut(&mut left));
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
