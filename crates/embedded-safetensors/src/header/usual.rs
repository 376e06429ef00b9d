//! The usual spelling of an entry, that of the reference's writer: no spaces, no escapes, and dtype,
//! shape and offsets in this order.
//!
//! The parser would say the same of such an entry, byte by byte. This is for the compiler, which
//! reads models that are parsed in a `const`: it takes microseconds for every call and a good part of
//! one for every step, so there are slice patterns here and few calls.

use crate::dtype::Dtype;

/// A tensor that agrees with itself, in an entry of the usual spelling.
#[derive(Clone, Copy)]
pub(crate) struct Usual<'i> {
    pub(crate) dtype: Dtype,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// The input from the first offset on.
    pub(crate) at_begin: &'i [u8],
    /// The input behind the entry.
    pub(crate) rest: &'i [u8],
}

impl<'i> Usual<'i> {
    /// The entry at the start of `text`, which begins with the first letter of the name. Nothing when
    /// it is spelled otherwise, when it is wrong, or when its numbers are very large: the parser then
    /// tells.
    pub(crate) const fn entry(text: &'i [u8]) -> Option<Self> {
        let Some(text) = behind_name(text) else { return None };
        let Some((dtype, text)) = dtype(text) else { return None };
        let Some((elements, text)) = elements(text) else { return None };
        let [b',', b'"', b'd', b'a', b't', b'a', b'_', text @ ..] = text else { return None };
        let [b'o', b'f', b'f', b's', b'e', b't', b's', b'"', b':', b'[', at_begin @ ..] = text else {
            return None;
        };
        let Some((begin, [b',', text @ ..])) = number(at_begin) else { return None };
        let Some((end, [b']', b'}', rest @ ..])) = number(text) else { return None };
        let bits = elements * dtype.bits() as u64;
        if end < begin || bits & 7 != 0 || bits >> 3 != end - begin {
            return None;
        }
        Some(Self { dtype, begin, end, at_begin, rest })
    }
}

/// What follows a name and the start of its entry, up to the name of the dtype.
const fn behind_name(mut text: &[u8]) -> Option<&[u8]> {
    // It may be `__metadata__`.
    if let [b'_', ..] = text {
        return None;
    }
    while let [plain!(), plain!(), plain!(), plain!(), plain!(), plain!(), plain!(), plain!(), rest @ ..] =
        text
    {
        text = rest;
    }
    while let [plain!(), rest @ ..] = text {
        text = rest;
    }
    match text {
        [b'"', b':', b'{', b'"', b'd', b't', b'y', b'p', b'e', b'"', b':', b'"', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// The dtype and what follows its closing quote. The usual ones first: each is tried in turn.
const fn dtype(text: &[u8]) -> Option<(Dtype, &[u8])> {
    Some(match text {
        [b'F', b'3', b'2', b'"', rest @ ..] => (Dtype::F32, rest),
        [b'F', b'1', b'6', b'"', rest @ ..] => (Dtype::F16, rest),
        [b'B', b'F', b'1', b'6', b'"', rest @ ..] => (Dtype::BF16, rest),
        [b'I', b'8', b'"', rest @ ..] => (Dtype::I8, rest),
        [b'U', b'8', b'"', rest @ ..] => (Dtype::U8, rest),
        [b'I', b'6', b'4', b'"', rest @ ..] => (Dtype::I64, rest),
        [b'I', b'3', b'2', b'"', rest @ ..] => (Dtype::I32, rest),
        [b'I', b'1', b'6', b'"', rest @ ..] => (Dtype::I16, rest),
        [b'F', b'6', b'4', b'"', rest @ ..] => (Dtype::F64, rest),
        [b'B', b'O', b'O', b'L', b'"', rest @ ..] => (Dtype::BOOL, rest),
        [b'U', b'1', b'6', b'"', rest @ ..] => (Dtype::U16, rest),
        [b'U', b'3', b'2', b'"', rest @ ..] => (Dtype::U32, rest),
        [b'U', b'6', b'4', b'"', rest @ ..] => (Dtype::U64, rest),
        [b'F', b'8', b'_', b'E', b'4', b'M', b'3', b'"', rest @ ..] => (Dtype::F8_E4M3, rest),
        [b'F', b'8', b'_', b'E', b'5', b'M', b'2', b'"', rest @ ..] => (Dtype::F8_E5M2, rest),
        [b'F', b'8', b'_', b'E', b'8', b'M', b'0', b'"', rest @ ..] => (Dtype::F8_E8M0, rest),
        [b'F', b'4', b'"', rest @ ..] => (Dtype::F4, rest),
        [b'F', b'6', b'_', b'E', b'2', b'M', b'3', b'"', rest @ ..] => (Dtype::F6_E2M3, rest),
        [b'F', b'6', b'_', b'E', b'3', b'M', b'2', b'"', rest @ ..] => (Dtype::F6_E3M2, rest),
        [b'F', b'8', b'_', b'E', b'4', b'M', b'3', b'F', b'N', b'U', b'Z', b'"', rest @ ..] => {
            (Dtype::F8_E4M3FNUZ, rest)
        }
        [b'F', b'8', b'_', b'E', b'5', b'M', b'2', b'F', b'N', b'U', b'Z', b'"', rest @ ..] => {
            (Dtype::F8_E5M2FNUZ, rest)
        }
        [b'C', b'6', b'4', b'"', rest @ ..] => (Dtype::C64, rest),
        _ => return None,
    })
}

/// The product of a shape, if it fits into 32 bits, and what follows the shape.
const fn elements(text: &[u8]) -> Option<(u64, &[u8])> {
    let [b',', b'"', b's', b'h', b'a', b'p', b'e', b'"', b':', b'[', text @ ..] = text else { return None };
    if let [b']', rest @ ..] = text {
        return Some((1, rest));
    }
    let (mut elements, mut text) = (1, text);
    loop {
        let Some((dim, rest)) = number(text) else { return None };
        if (elements | dim) >> 32 != 0 {
            return None;
        }
        elements *= dim;
        match rest {
            [b',', rest @ ..] => text = rest,
            [b']', rest @ ..] if elements >> 32 == 0 => return Some((elements, rest)),
            _ => return None,
        }
    }
}

/// A number of less than 63 bits and what follows it.
const fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut left = match text {
        [b'0', rest @ ..] => return Some((0, rest)),
        [b'1'..=b'9', ..] => text,
        _ => return None,
    };
    let mut number = 0;
    while let [digit @ b'0'..=b'9', rest @ ..] = left {
        if number >> 58 != 0 {
            return None;
        }
        number = number * 10 + (*digit & 0x0F) as u64;
        left = rest;
    }
    Some((number, left))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::header::{Event, HeaderParser};
    use std::format;

    /// The verdict is the parser's in any case; only here it shows who found it.
    #[test]
    fn the_usual_is_recognised() {
        for &dtype in Dtype::ALL {
            let len = dtype.bits();
            let text = format!(
                "layers.10.b\":{{\"dtype\":\"{dtype}\",\"shape\":[8,1],\"data_offsets\":[90,{}]}},",
                90 + len
            );
            let entry = Usual::entry(text.as_bytes()).expect("the usual spelling");
            assert_eq!((entry.dtype, entry.begin, entry.end), (dtype, 90, 90 + u64::from(len)));
            assert_eq!((entry.rest, entry.at_begin.first_chunk()), (&b","[..], Some(b"90,")));
        }
    }

    fn next_tensor(parser: &mut HeaderParser, input: &mut &[u8]) {
        while !matches!(parser.next(input).expect("a sound header"), Event::TensorEnd) {}
    }

    #[test]
    fn the_parser_stands_where_it_would() {
        let header = br#"{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"b":{"dtype":"I8","shape":[2],"data_offsets":[1,3]}}"#;
        let file = [&(header.len() as u64).to_le_bytes(), &header[..]].concat();
        let (mut slow, mut fast, mut slow_input, mut fast_input) =
            (HeaderParser::new(), HeaderParser::new(), &file[..], &file[..]);
        next_tensor(&mut slow, &mut slow_input);
        next_tensor(&mut fast, &mut fast_input);
        next_tensor(&mut slow, &mut slow_input);
        let (begin_at, _) = fast.take_usual(&mut fast_input).expect("the usual spelling");
        assert_eq!(&file[begin_at as usize..][..4], b"1,3]");
        assert_eq!((fast.position(), fast.event_start()), (slow.position(), slow.event_start()));
        assert_eq!((fast.dtype, fast_input), (slow.dtype, slow_input));
        assert_eq!(fast.next(&mut fast_input), slow.next(&mut slow_input));
    }
}
