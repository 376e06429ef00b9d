//! The usual spelling of an entry, that of the reference's writer: no spaces, no escapes, and dtype,
//! shape and offsets in this order. And that of `__metadata__`: strings in ASCII.
//!
//! The parser would say the same of them, byte by byte and several times as slowly. The compiler, which reads models that are
//! parsed in a `const`, takes microseconds for every call and a good part of one for every step, so there are slice patterns
//! and few calls for it. At run time, where pointers have 64 bits, words of eight bytes are several times as fast: whatever has
//! the parameter `BY_WORDS` knows both ways.

use super::strings::behind_plain;
use crate::dtype::Dtype;
use crate::shape::{MAX_RANK, Shape};
use crate::tensor::info::Extent;
use crate::util::bytes::{get, get_mut, low_u32};

/// Whether words are faster than bytes at run time. Elsewhere they take more instructions, and more flash.
pub(crate) const WORDS: bool = cfg!(target_pointer_width = "64");

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);

/// No entry of a tensor is shorter, with the comma before it.
pub(super) const SHORTEST: usize = r#","":{"dtype":"U8","shape":[],"data_offsets":[0,1]}"#.len();

/// A tensor that agrees with itself, in an entry of the usual spelling.
#[derive(Clone, Copy)]
pub(crate) struct Usual<'i> {
    pub(crate) dtype: Dtype,
    pub(crate) shape: Shape,
    pub(crate) place: Extent,
    /// Where the name's opening quote stands.
    pub(crate) name_at: u32,
    /// Where the entry ends.
    pub(crate) end_at: u32,
    /// From the name on.
    text: &'i [u8],
    /// From the name's closing quote on.
    quote: &'i [u8],
}

impl<'i> Usual<'i> {
    /// The entry at the start of `text`, which begins behind the opening quote of the name.
    /// Nothing when it is spelled otherwise, when it is wrong, or when its numbers are very large: the
    /// parser then tells.
    #[inline(always)]
    pub(super) const fn entry<const BY_WORDS: bool>(text: &'i [u8], name_at: u32) -> Option<Self> {
        // It may be `__metadata__`.
        if let [b'_', b'_', ..] = text {
            return None;
        }
        let quote = if BY_WORDS { behind_plain(text) } else { behind_plain_bytes(text) };
        let Some(rest) = behind_name::<BY_WORDS>(quote) else { return None };
        let Some((dtype, rest)) = dtype::<BY_WORDS>(rest) else { return None };
        let Some(rest) = behind_dtype::<BY_WORDS>(rest) else { return None };
        let mut sizes = [0; MAX_RANK];
        let Some((elements, rank, rest)) = dims::<BY_WORDS>(rest, &mut sizes) else { return None };
        let Some(offsets) = behind_shape::<BY_WORDS>(rest) else { return None };
        let Some((begin, [b',', rest @ ..])) = number::<BY_WORDS>(offsets) else { return None };
        let Some((end, [b']', b'}', rest @ ..])) = number::<BY_WORDS>(rest) else { return None };
        let bits = elements * dtype.bits() as u64; // of 32 bits and of 8
        if end < begin || bits & 7 != 0 || bits >> 3 != end - begin {
            return None;
        }
        let end_at = name_at + 1 + low_u32((text.len() - rest.len()) as u64);
        let place = Extent { begin, end, begin_at: end_at - low_u32((offsets.len() - rest.len()) as u64) };
        Some(Self { dtype, shape: Shape::of(sizes, rank), place, name_at, end_at, text, quote })
    }

    pub(crate) const fn name(&self) -> &'i [u8] {
        match self.text.split_at_checked(self.text.len() - self.quote.len()) {
            Some((name, _)) => name,
            None => &[],
        }
    }
}

/// What follows `__metadata__` in the usual spelling, `text` beginning with the name's opening quote.
pub(super) const fn metadata(text: &[u8]) -> Option<&[u8]> {
    let [b'"', b'_', b'_', b'm', b'e', b't', b'a', b'd', b'a', b't', b'a', b'_', b'_', b'"', text @ ..] =
        text
    else {
        return None;
    };
    let mut left = match text {
        [b':', b'{', b'}', rest @ ..] | [b':', b' ', b'{', b'}', rest @ ..] => return Some(rest),
        [b':', b'{', rest @ ..] | [b':', b' ', b'{', rest @ ..] => rest,
        _ => return None,
    };
    loop {
        let Some([b':', at_value @ ..]) = string(left) else { return None };
        let Some(rest) = string(spaced(at_value)) else { return None };
        left = match rest {
            [b',', rest @ ..] => spaced(rest),
            [b'}', rest @ ..] => return Some(rest),
            _ => return None,
        };
    }
}

/// Without a space at the start.
#[inline]
pub(super) const fn spaced(text: &[u8]) -> &[u8] {
    match text {
        [b' ', rest @ ..] => rest,
        _ => text,
    }
}

/// What follows a string of ASCII, whose escapes are those of one letter.
const fn string(text: &[u8]) -> Option<&[u8]> {
    let [b'"', text @ ..] = text else { return None };
    let mut left = text;
    loop {
        left = match left {
            [plain!(), plain!(), plain!(), plain!(), plain!(), plain!(), plain!(), plain!(), rest @ ..] => {
                rest
            }
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', rest @ ..]
            | [plain!(), rest @ ..] => rest,
            [b'"', rest @ ..] => return Some(rest),
            _ => return None,
        };
    }
}

/// The dtype and what follows its closing quote.
#[inline(always)]
const fn dtype<const BY_WORDS: bool>(text: &[u8]) -> Option<(Dtype, &[u8])> {
    let short = if BY_WORDS { short_dtype(text) } else { None };
    match (short, text) {
        (Some(_), _) => short,
        (_, [b'F', b'3', b'2', b'"', rest @ ..]) => Some((Dtype::F32, rest)),
        (_, [b'F', b'1', b'6', b'"', rest @ ..]) => Some((Dtype::F16, rest)),
        (_, [b'B', b'F', b'1', b'6', b'"', rest @ ..]) => Some((Dtype::BF16, rest)),
        _ => other_dtype(text),
    }
}

/// One of those that are rarer, which even the compiler finds sooner by its hash than behind all others.
#[inline(never)]
const fn other_dtype(text: &[u8]) -> Option<(Dtype, &[u8])> {
    if let (true, found @ Some(_)) = (WORDS, short_dtype(text)) {
        return found;
    }
    Dtype::quoted(text)
}

/// The product of the dimensions, if it fits into 32 bits, how many they are, and what follows them.
#[inline(always)]
const fn dims<'i, const BY_WORDS: bool>(
    mut text: &'i [u8],
    sizes: &mut [u64; MAX_RANK],
) -> Option<(u64, u8, &'i [u8])> {
    if let [b']', rest @ ..] = text {
        return Some((1, 0, rest));
    }
    let (mut elements, mut rank) = (1, 0);
    let mut room: &mut [u64] = sizes;
    while let [slot, others @ ..] = room {
        let Some((dim, rest)) = number::<BY_WORDS>(text) else { return None };
        if (elements | dim) >> 32 != 0 {
            return None;
        }
        (elements, rank, room) = (elements * dim, rank + 1, others);
        *slot = dim;
        match rest {
            [b',', rest @ ..] => text = rest,
            [b']', rest @ ..] if elements >> 32 == 0 => return Some((elements, rank, rest)),
            _ => return None,
        }
    }
    None
}

/// A number of at most 18 digits and what follows it.
#[inline(always)]
pub(super) const fn number<const BY_WORDS: bool>(text: &[u8]) -> Option<(u64, &[u8])> {
    match text {
        [b'0', rest @ ..] => return Some((0, rest)),
        [b'1'..=b'9', ..] => {}
        _ => return None,
    }
    if !BY_WORDS {
        return long_number(text);
    }
    match digits(text) {
        Some((digits, len @ 8..64)) => Some((eight_digits(digits << (64 - len)), behind_bits(text, len))),
        Some((first, 64)) => {
            let rest = behind_bits(text, 64);
            match digits(rest) {
                Some((second, len @ 0..64)) => {
                    let lower = if len == 0 { 0 } else { eight_digits(second << (64 - len)) };
                    Some((eight_digits(first) * ten_to(len >> 3) + lower, behind_bits(rest, len)))
                }
                _ => long_number(text),
            }
        }
        _ => long_number(text),
    }
}

/// What follows so many bits, of which there are as many.
pub(super) const fn behind_bits(text: &[u8], bits: u32) -> &[u8] {
    match text.split_at_checked(bits as usize >> 3) {
        Some((_, rest)) => rest,
        None => &[],
    }
}

/// The digits at the start, the first of them in the lowest byte, and of how many bits they are; nothing where less than eight
/// bytes are left.
#[inline(always)]
const fn digits(text: &[u8]) -> Option<(u64, u32)> {
    let Some(word) = text.first_chunk() else { return None };
    let digits = u64::from_le_bytes(*word) ^ (ONES * b'0' as u64);
    // The lowest bit is right: carries go upwards.
    let others = (digits.wrapping_add(ONES * 0x76) | digits) & HIGHS;
    Some((digits, others.trailing_zeros() & !7))
}

/// With an exponent below 8.
const fn ten_to(exponent: u32) -> u64 {
    let (mut power, mut left) = (1, exponent);
    while left > 0 {
        power *= 10;
        left -= 1;
    }
    power
}

/// The number that these digits are, the first of them in the lowest byte.
#[inline(always)]
const fn eight_digits(digits: u64) -> u64 {
    const EVERY_FOURTH: u64 = 0x0000_00FF_0000_00FF;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let first = (pairs & EVERY_FOURTH).wrapping_mul(1_000_000 << 32 | 100);
    let second = (pairs >> 16 & EVERY_FOURTH).wrapping_mul(10_000 << 32 | 1);
    first.wrapping_add(second) >> 32
}

#[inline(never)]
const fn long_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut number, mut left) = (0u64, text);
    while let [digit @ b'0'..=b'9', rest @ ..] = left {
        number = number.wrapping_mul(10).wrapping_add((*digit & 0x0F) as u64);
        left = rest;
    }
    if text.len() - left.len() > 18 { None } else { Some((number, left)) }
}

/// What follows this text of 8 to 17 bytes.
#[inline(always)]
pub(super) const fn behind<'a, const LEN: usize>(text: &'a [u8], due: &[u8; LEN]) -> Option<&'a [u8]> {
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

/// A dtype whose name has at most seven letters, without a branch for each that there is: where they differ from tensor to
/// tensor a processor would guess wrong.
#[inline(always)]
pub(super) const fn short_dtype(text: &[u8]) -> Option<(Dtype, &[u8])> {
    let Some(word) = text.first_chunk() else { return None };
    let word = u64::from_le_bytes(*word);
    let Some(bits) = bits_to(word, b'"') else { return None };
    let name = word & (u64::MAX >> (64 - bits));
    match get(&DTYPES, slot_of(name)) {
        Some((due, dtype)) if due == name => Some((dtype, behind_bits(text, bits))),
        _ => None,
    }
}

/// How many bits of a word there are up to the first byte like this, it included, from the lowest on.
#[inline(always)]
const fn bits_to(word: u64, byte: u8) -> Option<u32> {
    let others = word ^ (ONES * byte as u64);
    // The lowest bit is right: borrows go upwards.
    let found = others.wrapping_sub(ONES) & !others & HIGHS;
    if found == 0 { None } else { Some((found.trailing_zeros() & !7) + 8) }
}

/// The dtypes of short names, each where the hash of its name says; elsewhere a name that none has.
const DTYPES: [(u64, Dtype); 32] = {
    let mut table = [(u64::MAX, Dtype::BOOL); 32];
    let mut left = Dtype::ALL;
    while let [dtype, rest @ ..] = left {
        left = rest;
        let name = dtype.name().as_bytes();
        let Some(slot) = get_mut(&mut table, slot_of(packed(name))) else { continue };
        if name.len() < 8 {
            *slot = (packed(name), *dtype);
        }
    }
    table
};

/// No two short names with a quote behind them have the same.
const fn slot_of(name: u64) -> usize {
    low_u32(name.wrapping_mul(0x27F5_2FA9_A117_511F) >> 59) as usize
}

/// The letters of a short name and a quote, the first in the lowest byte.
const fn packed(name: &[u8]) -> u64 {
    let (mut word, mut left) = (b'"' as u64, name);
    while let [rest @ .., letter] = left {
        word = (word << 8) | *letter as u64;
        left = rest;
    }
    word
}

/// What follows the quote behind a name, and the start of the entry, up to the name of the dtype.
#[inline(always)]
const fn behind_name<const BY_WORDS: bool>(text: &[u8]) -> Option<&[u8]> {
    match text {
        _ if BY_WORDS => behind(text, b"\":{\"dtype\":\""),
        [b'"', b':', b'{', b'"', b'd', b't', b'y', b'p', b'e', b'"', b':', b'"', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// What follows the dtype, up to the dimensions.
#[inline(always)]
const fn behind_dtype<const BY_WORDS: bool>(text: &[u8]) -> Option<&[u8]> {
    match text {
        _ if BY_WORDS => behind(text, b",\"shape\":["),
        [b',', b'"', b's', b'h', b'a', b'p', b'e', b'"', b':', b'[', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// What follows the dimensions, up to the offsets.
#[inline(always)]
const fn behind_shape<const BY_WORDS: bool>(text: &[u8]) -> Option<&[u8]> {
    if BY_WORDS {
        return behind(text, b",\"data_offsets\":[");
    }
    let [b',', b'"', b'd', b'a', b't', b'a', b'_', text @ ..] = text else { return None };
    match text {
        [b'o', b'f', b'f', b's', b'e', b't', b's', b'"', b':', b'[', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// As [`behind_plain`].
const fn behind_plain_bytes(mut text: &[u8]) -> &[u8] {
    while let [plain!(), plain!(), plain!(), plain!(), plain!(), plain!(), plain!(), plain!(), rest @ ..] =
        text
    {
        text = rest;
    }
    while let [plain!(), rest @ ..] = text {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::header::{Event, HeaderParser};
    use std::format;
    use std::vec::Vec;

    /// The verdict is the parser's in any case; only here it shows who found it.
    #[test]
    fn the_usual_is_recognised() {
        for &dtype in Dtype::ALL {
            let len = dtype.bits();
            let text = format!(
                "layers.10.b\":{{\"dtype\":\"{dtype}\",\"shape\":[8,1],\"data_offsets\":[90,{}]}},",
                90 + len
            );
            let entry = Usual::entry::<WORDS>(text.as_bytes(), 8).expect("the usual spelling");
            assert_eq!((entry.dtype, entry.shape), (dtype, Shape::new(&[8, 1]).expect("it fits")));
            assert_eq!((entry.place.begin, entry.place.end), (90, 90 + u64::from(len)));
            assert_eq!(entry.name(), b"layers.10.b");
            let whole = text.len() - 1;
            let end_at =
                |len| Usual::entry::<false>(&text.as_bytes()[..len], 8).map(|entry| entry.end_at as usize);
            assert_eq!(end_at(whole), Some(9 + whole));
            assert!((0..whole).all(|len| end_at(len).is_none()));
        }
    }

    fn next_tensor(parser: &mut HeaderParser, input: &mut &[u8]) {
        while !matches!(parser.next(input).expect("a sound header"), Event::TensorEnd) {}
    }

    #[test]
    #[cfg_attr(safetensors_general, ignore = "there are no shortcuts")]
    fn the_parser_stands_where_it_would() {
        let header = br#"{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"b":{"dtype":"I8","shape":[2],"data_offsets":[1,3]}}"#;
        let file = [&(header.len() as u64).to_le_bytes(), &header[..]].concat();
        let (mut slow, mut fast, mut slow_input, mut fast_input) =
            (HeaderParser::new(), HeaderParser::new(), &file[..], &file[..]);
        next_tensor(&mut slow, &mut slow_input);
        next_tensor(&mut fast, &mut fast_input);
        next_tensor(&mut slow, &mut slow_input);
        let entry = fast.take_usual::<WORDS>(&mut fast_input).expect("the usual spelling");
        assert_eq!(&file[entry.place.begin_at as usize..][..4], b"1,3]");
        assert_eq!(&file[entry.name_at as usize..][..3], b"\"b\"");
        assert_eq!((fast.position(), fast.event_start()), (slow.position(), slow.event_start()));
        assert_eq!((fast.dtype, fast_input), (slow.dtype, slow_input));
        assert_eq!(fast.next(&mut fast_input), slow.next(&mut slow_input));
    }

    #[test]
    #[cfg_attr(safetensors_general, ignore = "there are no shortcuts")]
    fn the_parser_stands_where_it_would_behind_metadata() {
        for header in [
            r#"{"__metadata__":{},"a":{}}"#,
            r#"{"__metadata__":{"":""}}"#,
            r#"{"__metadata__": {"k\"\\\/\b\f\n\r\t": "a longer value", "l":"\\u0041"}, "a":{}}"#,
        ] {
            let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
            let (mut slow, mut fast, mut slow_input, mut fast_input) =
                (HeaderParser::new(), HeaderParser::new(), &file[..], &file[..]);
            assert_eq!(fast.next(&mut fast_input), Ok(Event::Length(header.len() as u64)));
            while slow.next(&mut slow_input) != Ok(Event::MetadataEnd) {}
            assert!(fast.take_metadata(&mut fast_input), "{header}");
            assert_eq!((fast.position(), fast.event_start()), (slow.position(), slow.event_start()));
            assert_eq!((fast.metadata_seen, fast_input), (slow.metadata_seen, slow_input));
            assert!(!fast.take_metadata(&mut fast_input));
            assert_eq!(fast.next(&mut fast_input), slow.next(&mut slow_input));
        }
    }

    #[test]
    #[cfg_attr(safetensors_general, ignore = "there are no shortcuts")]
    fn metadata_beyond_the_header_are_not_taken() {
        let header = br#"{"__metadata__":{"a":"b"}}"#;
        for len in 0..=header.len() {
            let file = [&(len as u64).to_le_bytes(), &header[..]].concat();
            let (mut parser, mut input) = (HeaderParser::new(), &file[..]);
            assert!(parser.next(&mut input).is_ok());
            assert_eq!(parser.take_metadata(&mut input), len >= header.len() - 1, "{len}");
        }
    }

    #[test]
    fn dtypes_are_found_by_words_as_by_letters() {
        for dtype in Dtype::ALL {
            let name = dtype.name();
            let text = format!("{name}\",\"shape\"");
            let found = Some((*dtype, &b",\"shape\""[..]));
            assert_eq!(dtype_of(&text), [found; 2], "{name}");
            assert_eq!(short_dtype(text.as_bytes()), if name.len() < 8 { found } else { None }, "{name}");
            for wrong in [
                &format!("{name}\0\",\"shape\""),
                &format!("{name}x\",\"shape\""),
                &format!("x{name}\",\"shape\""),
                &text[..name.len()],
            ] {
                assert_eq!(dtype_of(wrong), [None; 2], "{wrong}");
            }
        }
        assert_eq!(dtype_of("\",\"shape\":["), [None; 2]);
    }

    fn dtype_of(text: &str) -> [Option<(Dtype, &[u8])>; 2] {
        [dtype::<true>(text.as_bytes()), dtype::<false>(text.as_bytes())]
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
