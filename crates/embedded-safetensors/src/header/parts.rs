//! Entries of the usual spelling, part by part: where pointers have 64 bits, and nobody listens to what entries say, this takes
//! what stands of an entry in an input, however little, and leaves the parser where it would have come to byte by byte.
//!
//! What differs from entry to entry ends with a quote or a bracket. What stands between is always the same, so where it is cut the
//! parser's state is known beforehand: [`SPOTS`] has asked the parser itself. Any other byte is the parser's.

use super::SHORTCUTS;
use super::machine::{HeaderParser, Signal, skip};
use super::schema::{Inside, State, Want};
use super::strings::behind_plain;
use super::text::Word;
use super::usual::{WORDS, behind, number, short_dtype};
use crate::error::Field;
use crate::util::bytes::{get, low_u8, low_u32};

/// An entry from behind its name up to the next name, with as little as possible of what differs.
const TEXT: [u8; 49] = *br#":{"dtype":"U8","shape":[],"data_offsets":[0,1]},""#;

/// Parts of it that are always the same: where they begin and end.
const TO_DTYPE: (usize, usize) = (0, 11);
const TO_SHAPE: (usize, usize) = (14, 24);
const TO_OFFSETS: (usize, usize) = (25, 42);
const TO_NAME: (usize, usize) = (47, 49);

/// What the parser knows when it stands somewhere in an entry.
#[derive(Clone, Copy)]
struct Spot {
    state: State,
    want: Want,
    inside: Inside,
    list: Field,
    items: u8,
    fields: u8,
    word: Word,
}

impl Spot {
    const fn of(parser: &HeaderParser) -> Self {
        let HeaderParser { state, want, inside, list, items, fields, word, .. } = *parser;
        Self { state, want, inside, list, items, fields, word }
    }
}

/// Before each byte of [`TEXT`], and behind the last.
const SPOTS: [Spot; TEXT.len() + 1] = {
    let mut parser = HeaderParser::new();
    (parser.state, parser.want) = (State::Colon, Want::Entry);
    let mut spots = [Spot::of(&parser); TEXT.len() + 1];
    let (mut room, mut left): (&mut [Spot], &[u8]) = (&mut spots, &TEXT);
    while let [spot, others @ ..] = room {
        *spot = Spot::of(&parser);
        room = others;
        parser.take_byte(&mut left);
    }
    spots
};

impl HeaderParser {
    const ENTRIES: u32 = Signal::Name.bit() | Signal::Tensor.bit() | Self::FIELDS;

    /// Takes what it can of the start of `input`. Whether that ends an entry.
    #[inline(always)]
    pub(super) const fn take_parts(&mut self, input: &mut &[u8]) -> bool {
        let spot = core::mem::replace(&mut self.spot, 0);
        let is_usual = !matches!(self.state, State::Length | State::Tail) && self.told & Self::ENTRIES == 0;
        if !SHORTCUTS || !is_usual {
            return false;
        }
        let header = self.of_header(input);
        let mut left = header;
        let ends = self.take_usual_parts(&mut left, spot);
        skip(input, header.len() - left.len());
        ends
    }

    const fn take_to<'i>(&mut self, left: &mut &'i [u8], rest: &'i [u8]) {
        self.position += low_u32((left.len() - rest.len()) as u64);
        *left = rest;
    }

    #[inline(never)]
    const fn take_usual_parts(&mut self, left: &mut &[u8], spot: u8) -> bool {
        if spot > 0 && !self.has_failed() {
            self.finish_part(left, spot as usize);
        }
        match (self.state, self.want, self.inside, self.fields) {
            (State::After, _, Inside::Header, _) => self.take_part(left, TO_NAME) && self.go_on_in_name(left),
            (State::Text, Want::Name, ..) => self.go_on_in_name(left),
            (State::Colon, Want::Entry, ..) => self.go_on_at_colon(left),
            (State::Text, Want::Dtype, _, 0b001) => {
                self.take_short_dtype(left) && self.go_on_behind_dtype(left)
            }
            (State::After, _, Inside::Entry, 0b001) => self.go_on_behind_dtype(left),
            (_, Want::Integer, Inside::List, 0b011) => {
                self.take_numbers(left) && self.go_on_behind_shape(left)
            }
            (State::After, _, Inside::Entry, 0b011) => self.go_on_behind_shape(left),
            (_, Want::Integer, Inside::List, 0b111) => self.take_numbers(left) && self.take_end(left),
            (State::After, _, Inside::Entry, 0b111) => self.take_end(left),
            _ => false,
        }
    }

    const fn go_on_in_name(&mut self, left: &mut &[u8]) -> bool {
        self.take_name(left) && self.go_on_at_colon(left)
    }

    const fn go_on_at_colon(&mut self, left: &mut &[u8]) -> bool {
        self.take_fixed(left, b":{\"dtype\":\"", TO_DTYPE)
            && self.take_short_dtype(left)
            && self.go_on_behind_dtype(left)
    }

    const fn go_on_behind_dtype(&mut self, left: &mut &[u8]) -> bool {
        self.take_fixed(left, b",\"shape\":[", TO_SHAPE)
            && self.take_numbers(left)
            && self.go_on_behind_shape(left)
    }

    const fn go_on_behind_shape(&mut self, left: &mut &[u8]) -> bool {
        self.take_fixed(left, b",\"data_offsets\":[", TO_OFFSETS)
            && self.take_numbers(left)
            && self.take_end(left)
    }

    /// The end of an entry.
    const fn take_end(&mut self, left: &mut &[u8]) -> bool {
        let [b'}', rest @ ..] = *left else { return false };
        self.token = self.position;
        self.inside = Inside::Header;
        self.take_to(left, rest);
        true
    }

    /// Takes the rest of a part in which the last input has ended.
    const fn finish_part(&mut self, left: &mut &[u8], from: usize) -> bool {
        let (_, to) = match from {
            0..11 => TO_DTYPE,
            11..24 => TO_SHAPE,
            24..42 => TO_OFFSETS,
            _ => TO_NAME,
        };
        self.take_part(left, (from, to))
    }

    /// As [`take_part`](Self::take_part), faster where all of it is there.
    #[inline(always)]
    const fn take_fixed<const LEN: usize>(
        &mut self,
        left: &mut &[u8],
        due: &[u8; LEN],
        part: (usize, usize),
    ) -> bool {
        let Some(rest) = behind(left, due) else { return self.take_part(left, part) };
        self.take_to(left, rest);
        self.stand_at(part.1);
        true
    }

    /// Takes this part of [`TEXT`], or what is there of it if the input ends with that. Whether all of it was there.
    #[inline(never)]
    const fn take_part(&mut self, left: &mut &[u8], (from, to): (usize, usize)) -> bool {
        let (mut at, mut rest) = (from, *left);
        while let (true, [byte, others @ ..]) = (at < to, rest) {
            match get(&TEXT, at) {
                Some(due) if due == *byte => (at, rest) = (at + 1, others),
                _ => return false,
            }
        }
        self.take_to(left, rest);
        self.stand_at(at);
        self.spot = if at < to { low_u8(at) } else { 0 };
        at == to
    }

    /// Knows what the parser knows at that byte of [`TEXT`].
    const fn stand_at(&mut self, at: usize) {
        let Some(spot) = get(&SPOTS, at) else { return };
        Spot {
            state: self.state,
            want: self.want,
            inside: self.inside,
            list: self.list,
            items: self.items,
            fields: self.fields,
            word: self.word,
        } = spot;
        match (spot.state, spot.list) {
            (State::Text, _) => self.token = self.position - 1 - spot.word.len() as u32,
            (State::FirstItem, Field::Shape) => {
                (self.token, self.shape_at, self.elements) = (self.position - 1, self.position - 1, 1);
            }
            _ => {}
        }
    }

    /// Takes what is there of a name in ASCII that is not `__metadata__`. Whether its end was there.
    const fn take_name(&mut self, left: &mut &[u8]) -> bool {
        let is_usual = match *left {
            _ if self.utf8.is_open() => false,
            [] => false,
            [b'_'] | [b'_', b'_', ..] => self.word.is_ruled_out(),
            _ => self.word.is_ruled_out() || self.word.is_empty(),
        };
        if !is_usual {
            return false;
        }
        match behind_plain(left) {
            [] => {
                self.word.rule_out();
                self.take_to(left, &[]);
                false
            }
            [b'"', rest @ ..] => {
                (self.want, self.state) = (Want::Entry, State::Colon);
                self.take_to(left, rest);
                true
            }
            _ => false,
        }
    }

    const fn take_short_dtype(&mut self, left: &mut &[u8]) -> bool {
        match short_dtype(left) {
            Some((dtype, rest)) if self.word.is_empty() => {
                self.dtype = dtype;
                self.state = State::After;
                self.take_to(left, rest);
                true
            }
            _ => false,
        }
    }

    /// Takes what is there of a list. Whether its end was there.
    #[inline(never)]
    const fn take_numbers(&mut self, left: &mut &[u8]) -> bool {
        loop {
            let (found, begin) = match (self.state, *left) {
                (State::Digits, text) => (more_digits(self.number, text), self.token),
                (State::FirstItem, [b']', rest @ ..]) if matches!(self.list, Field::Shape) => {
                    return self.end_list(left, rest);
                }
                (State::FirstItem | State::Value, text) => (number::<WORDS>(text), self.position),
                _ => return false,
            };
            let Some((number, rest)) = found else { return false };
            match rest {
                [] => {
                    (self.number, self.token, self.state) = (number, begin, State::Digits);
                    self.take_to(left, rest);
                    return false;
                }
                [b',', rest @ ..] if self.keep_number(number, begin, false) => {
                    self.state = State::Value;
                    self.take_to(left, rest);
                }
                [b']', rest @ ..] if self.keep_number(number, begin, true) => {
                    return self.end_list(left, rest);
                }
                _ => return false,
            }
        }
    }

    const fn end_list<'i>(&mut self, left: &mut &'i [u8], rest: &'i [u8]) -> bool {
        (self.inside, self.state) = (Inside::Entry, State::After);
        self.take_to(left, rest);
        true
    }

    /// Keeps a number of a list, the last of it or not. If not, nothing has changed.
    #[inline(always)]
    const fn keep_number(&mut self, number: u64, begin: u32, is_last: bool) -> bool {
        match (self.list, self.items, is_last) {
            (Field::Offsets, 0, false) => (self.begin, self.begin_at, self.items) = (number, begin, 1),
            (Field::Offsets, 1, true) => self.range_end = number,
            (Field::Shape, ..) if (self.elements | number) >> 32 == 0 => self.elements *= number,
            _ => return false,
        }
        true
    }
}

/// The number that goes on with these digits, and what follows them.
const fn more_digits(value: u64, text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut number, mut left) = (value, text);
    while let [digit @ b'0'..=b'9', rest @ ..] = left {
        if number == 0 || number >> 56 != 0 {
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
    use std::{format, string::String, vec::Vec};

    /// A parser that stands before a header of this length.
    fn before_header(len: usize, told: u32) -> HeaderParser {
        let mut parser = HeaderParser::new();
        (parser.told, parser.multiplies) = (told, true);
        parser.advance(&mut &(len as u64).to_le_bytes()[..], &mut &[][..]);
        parser
    }

    fn read(parser: &mut HeaderParser, mut input: &[u8]) {
        while !matches!(
            parser.advance(&mut input, &mut &[][..]),
            Signal::NeedInput | Signal::HeaderEnd | Signal::Failed
        ) {}
    }

    /// All that matters for what comes.
    fn known(parser: &HeaderParser) -> String {
        let HeaderParser { state, want, inside, fields, list, items, .. } = *parser;
        let HeaderParser {
            position, dtype, elements, begin, begin_at, range_end, shape_at, fault_at, ..
        } = *parser;
        let is_token = matches!(state, State::Text | State::Digits);
        let token =
            is_token.then_some((parser.token, matches!(state, State::Digits).then_some(parser.number)));
        let word = parser.word.as_bytes();
        // A name counts only as long as it may be this one.
        let is_open = !matches!(want, Want::Name) || b"__metadata__".starts_with(word);
        let word =
            (matches!(state, State::Text) && is_open && !parser.word.is_ruled_out()).then(|| word.to_vec());
        let fields = matches!(inside, Inside::Entry | Inside::List).then_some(fields);
        let is_between = matches!(state, State::After | State::NextKey | State::FirstKey);
        let wanted = (!is_between || matches!(inside, Inside::List)).then_some(want as u8);
        let is_list = matches!((inside, want), (Inside::List, _) | (Inside::Entry, Want::List));
        let list = (is_list && !matches!(state, State::After)).then_some(list as u8);
        let items = matches!((inside, parser.list), (Inside::List, Field::Offsets)).then_some(items);
        let numbers = (dtype, elements, begin, begin_at, range_end, shape_at, fault_at);
        format!(
            "{position} {} {:?} {} {fields:?} {list:?} {items:?} {token:?} {word:?} {numbers:?}",
            state as u8, wanted, inside as u8
        )
    }

    const LISTS: [&str; 9] = [
        "",
        "1",
        "16,64",
        "0",
        "12345678,12,0",
        "4294967296",
        "65536,65536,2",
        "1,2,3,4,5,6,7,8,9",
        "18446744073709551616",
    ];

    const WRONG: [&str; 16] = [
        "01",
        "1,",
        "1,2,3,",
        "1.5",
        "-1",
        "1 ",
        " 1",
        "1 2",
        "1,]",
        "1e3",
        "99999999999999999999",
        "x",
        "1\"",
        "[1]",
        "\u{e9}",
        ",1",
    ];

    fn headers() -> Vec<String> {
        let entry = |name: &str, dtype: &str, shape: &str, offsets: &str| {
            format!(r#""{name}":{{"dtype":"{dtype}","shape":[{shape}],"data_offsets":[{offsets}]}}"#)
        };
        let mut all: Vec<String> =
            LISTS.iter().chain(&WRONG).map(|list| entry("a.weight", "F32", list, "0,4096")).collect();
        all.extend(LISTS.iter().chain(&WRONG).map(|list| entry("a", "F8_E4M3FNUZ", "2,3", list)));
        all.extend(
            [
                "",
                "_",
                "_x",
                "__x",
                "__metadata_",
                "a name that is not short",
                "\u{e9}",
                "\\n",
                "a\\u0041",
                "\u{1F600}x",
                "a\tb",
            ]
            .map(|name| entry(name, "BF16", "7", "14,28")),
        );
        all.extend(
            ["", "F33", "F8_E5M2", "f32", "\\u0046", "\u{e9}"].map(|dtype| entry("b", dtype, "7", "14,28")),
        );
        let spaced = |text: &str| text.replace(':', ": ").replace(',', ", ");
        all.extend(all.clone().iter().map(|text| spaced(text)));
        all.push(r#""__metadata__":{"a":"b"}"#.into());
        all.push(r#""a":{"data_offsets":[0,4],"dtype":"F32","shape":[1]}"#.into());
        all.push(r#""a":{"shape":[1],"dtype":"F32","data_offsets":[0,4],"x":[1,{}]}"#.into());
        all.push(r#""a":{"dtype":"F32","dtype":"F32"}"#.into());
        all.push(r#""a":{"dtype":"F32","shape":[1]}"#.into());
        let last = entry("last", "I8", "3", "4096,4099");
        all.iter().map(|text| format!("{{{text},{last}}} ")).collect()
    }

    /// In two pieces, and in pieces of one length; one that is told of nothing but the ends of tensors, and one that tells all.
    #[test]
    fn the_parser_stands_where_it_would_wherever_the_input_is_cut() {
        for header in headers() {
            let text = header.as_bytes();
            for cut in 0..=text.len() {
                let mut fast = before_header(text.len(), Signal::TensorEnd.bit());
                let mut slow = before_header(text.len(), HeaderParser::ALL);
                for piece in [&text[..cut], &text[cut..]] {
                    read(&mut fast, piece);
                    read(&mut slow, piece);
                    assert_eq!(known(&fast), known(&slow), "{header} cut at {cut}");
                }
                assert_eq!(fast.error(), slow.error(), "{header} cut at {cut}");
            }
            for len in 1..20 {
                let mut fast = before_header(text.len(), Signal::TensorEnd.bit());
                let mut slow = before_header(text.len(), HeaderParser::ALL);
                for piece in text.chunks(len) {
                    read(&mut fast, piece);
                    read(&mut slow, piece);
                    assert_eq!(known(&fast), known(&slow), "{header} in pieces of {len}");
                }
            }
        }
    }

    #[test]
    fn what_has_failed_stays_so_wherever_the_input_ends() {
        let text = br#"{"a":{"dtype":"F32","shape":[16,64],"data_offsets":[0,4096]},"b":{"dtype":"I8""#;
        for cut in 1..text.len() {
            let mut parser = before_header(text.len(), Signal::TensorEnd.bit());
            read(&mut parser, &text[..cut]);
            let error = parser.end_of_input().expect_err("it is not complete");
            read(&mut parser, &text[cut..]);
            assert_eq!((parser.end_of_input(), parser.position()), (Err(error), 8 + cut as u64));
        }
    }
}
