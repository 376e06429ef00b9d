//! Strings of a header, borrowed in place with their escapes.

use crate::error::{Error, ErrorKind};
use crate::util::bytes::low_u32;
use crate::util::escapes::{Unicode, UnicodeStep, Utf8Char, unescape};
use core::fmt::{self, Write};

/// A string of a header in place: the name of a tensor, or a key or value of `__metadata__`.
///
/// The file may spell its characters as escapes (`\u0041`, `\n`). Comparison and `Display` use the decoded
/// characters. A decoded `str` takes memory only if there are escapes.
///
/// *Memory*: 24 bytes, `Copy`; the text is borrowed from the file.
#[derive(Clone, Copy)]
pub struct JsonStr<'a> {
    /// The bytes between the quotes, which a parser has validated.
    text: &'a [u8],
    at: u32,
    /// Whether there are no escapes.
    is_plain: bool,
}

impl<'a> JsonStr<'a> {
    pub(super) const fn new(text: &'a [u8], at: u32) -> Self {
        Self { text, at, is_plain: !has_escapes(text) }
    }

    /// Returns the string whose opening quote is at a byte of a text: for programs that read the JSON in a
    /// value of `__metadata__`. [`at`](Self::at) is then an offset in that text. If the text is not valid
    /// JSON, neither need the characters be those of a string.
    pub fn opening_at(text: &'a [u8], at: u64) -> Self {
        let at = low_u32(at);
        let text = text.get(at as usize..).and_then(|text| text.get(1..)).unwrap_or(&[]);
        let (mut len, mut is_escaped) = (0, false);
        for byte in text {
            if *byte == b'"' && !is_escaped {
                break;
            }
            is_escaped = *byte == b'\\' && !is_escaped;
            len += 1;
        }
        Self::new(text.get(..len).unwrap_or(&[]), at)
    }

    /// Creates a string when it is known whether it has escapes.
    pub(super) const fn validated(text: &'a [u8], at: u32, is_plain: bool) -> Self {
        Self { text, at, is_plain }
    }

    /// Returns the offset of the opening quote in the file.
    pub const fn at(&self) -> u64 {
        self.at as u64
    }

    /// Returns the string as a `str`, or `None` if it has escapes. Takes a pass over it.
    pub const fn as_str(&self) -> Option<&'a str> {
        if !self.is_plain {
            return None;
        }
        match core::str::from_utf8(self.text) {
            Ok(text) => Some(text),
            Err(_) => None,
        }
    }

    /// Returns the decoded characters.
    pub const fn chars(&self) -> Chars<'a> {
        Chars { left: self.text }
    }

    /// Returns whether the decoded string equals `text`: `==`, but const.
    pub const fn is(&self, text: &str) -> bool {
        match self.is_plain {
            true => are_equal(self.text, text.as_bytes()),
            false => self.chars().are(text.as_bytes()),
        }
    }

    /// Decodes the string into the front of `memory`, and returns that part.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] at the opening quote when `memory` is too small, with the length needed.
    pub fn decode<'b>(&self, memory: &'b mut [u8]) -> Result<&'b str, Error> {
        let (needed, capacity) = (self.decoded_len(), memory.len());
        let Some((text, _)) = memory.split_at_mut_checked(needed) else {
            return Err(
                ErrorKind::BufferLength { needed: needed as u64, capacity: capacity as u64 }.at(self.at())
            );
        };
        let mut slots = text.iter_mut();
        for character in self.chars() {
            // `char::encode_utf8` can panic.
            let encoded = Utf8Char::new(character.into());
            encoded.as_bytes().iter().zip(slots.by_ref()).for_each(|(byte, slot)| *slot = *byte);
        }
        Ok(core::str::from_utf8(text).unwrap_or(""))
    }

    /// Returns the length in bytes of the decoded string in UTF-8.
    pub fn decoded_len(&self) -> usize {
        self.chars().map(char::len_utf8).sum()
    }

    /// Returns whether the decoded strings are equal: `==`, but const.
    pub(super) const fn equals(&self, other: &Self) -> bool {
        match self.is_plain && other.is_plain {
            true => are_equal(self.text, other.text),
            false => self.chars().equal(other.chars()),
        }
    }

    /// Returns a hash of the decoded string. Names are compared only if their hashes are equal.
    pub(super) const fn hash(&self) -> u32 {
        if self.is_plain { hash(self.text) } else { self.hash_decoded() }
    }

    #[cold]
    const fn hash_decoded(&self) -> u32 {
        let (mut sum, mut tail, mut left) = (0, Tail::new(), self.chars());
        while let Some(character) = left.next_char() {
            let encoded = Utf8Char::new(character as u32);
            let mut bytes: &[u8] = encoded.as_bytes();
            while let [byte, rest @ ..] = bytes {
                if tail.push(*byte) {
                    sum = mix(sum, tail.word);
                    tail = Tail::new();
                }
                bytes = rest;
            }
        }
        finish(sum, &tail)
    }
}

// The functions that follow are written for const evaluation, where a pattern of eight bytes takes the time
// of two single ones.

const fn has_escapes(text: &[u8]) -> bool {
    let mut left = text;
    while let [byte, rest @ ..] = left {
        if *byte == b'\\' {
            return true;
        }
        left = rest;
    }
    false
}

/// `==` on slices is not const.
pub(super) const fn are_equal(mut a: &[u8], mut b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    while let ([a0, a1, a2, a3, a4, a5, a6, a7, a_rest @ ..], [b0, b1, b2, b3, b4, b5, b6, b7, b_rest @ ..]) =
        (a, b)
    {
        let front = (*a0 ^ *b0) | (*a1 ^ *b1) | (*a2 ^ *b2) | (*a3 ^ *b3);
        if front | (*a4 ^ *b4) | (*a5 ^ *b5) | (*a6 ^ *b6) | (*a7 ^ *b7) != 0 {
            return false;
        }
        (a, b) = (a_rest, b_rest);
    }
    while let ([x, a_rest @ ..], [y, b_rest @ ..]) = (a, b) {
        if *x != *y {
            return false;
        }
        (a, b) = (a_rest, b_rest);
    }
    true
}

/// Returns a hash of 32 bits. It does not resist names that are chosen to collide; each of those costs a
/// comparison.
pub(super) const fn hash(text: &[u8]) -> u32 {
    let (mut sum, mut left) = (0, text);
    while let [a, b, c, d, e, f, g, h, rest @ ..] = left {
        sum = mix(sum, u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]));
        left = rest;
    }
    let mut tail = Tail::new();
    while let [byte, rest @ ..] = left {
        tail.push(*byte);
        left = rest;
    }
    finish(sum, &tail)
}

/// The last bytes of a text, fewer than a word.
struct Tail {
    word: u64,
    len: u64,
}

impl Tail {
    const fn new() -> Self {
        Self { word: 0, len: 0 }
    }

    /// Appends a byte. Returns whether the word is full.
    const fn push(&mut self, byte: u8) -> bool {
        self.word = (self.word << 8) | byte as u64;
        self.len += 1;
        self.len == 8
    }
}

const fn mix(sum: u64, word: u64) -> u64 {
    let both = sum ^ word;
    ((both & 0xFFFF_FFFF) * 0x9E37_79B9) ^ ((both >> 32) * 0x85EB_CA77)
}

const fn finish(sum: u64, tail: &Tail) -> u32 {
    let sum = mix(sum ^ (tail.len << 60), tail.word);
    low_u32(sum ^ (sum >> 32))
}

impl PartialEq for JsonStr<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

impl Eq for JsonStr<'_> {}

impl PartialEq<str> for JsonStr<'_> {
    fn eq(&self, other: &str) -> bool {
        self.is(other)
    }
}

impl PartialEq<&str> for JsonStr<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.is(other)
    }
}

impl fmt::Display for JsonStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars().try_for_each(|character| f.write_char(character))
    }
}

impl fmt::Debug for JsonStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in self.chars() {
            match character {
                // It needs no escape inside double quotes.
                '\'' => f.write_char(character)?,
                _ => character.escape_debug().try_for_each(|character| f.write_char(character))?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for JsonStr<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        match self.as_str() {
            Some(text) => defmt::write!(f, "{=str}", text),
            None => self.chars().for_each(|character| defmt::write!(f, "{=char}", character)),
        }
    }
}

/// The decoded characters of a [`JsonStr`].
///
/// *Memory*: 16 bytes, `Copy`.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Chars<'a> {
    left: &'a [u8],
}

impl Chars<'_> {
    /// [`Iterator::next`], but const.
    pub const fn next_char(&mut self) -> Option<char> {
        let (character, rest) = match self.left {
            [b'\\', b'u', rest @ ..] => unicode(rest),
            [b'\\', letter, rest @ ..] => (single(*letter), rest),
            text => decode(text),
        };
        self.left = rest;
        character
    }

    /// Returns whether the characters are those of `text`.
    const fn are(mut self, text: &[u8]) -> bool {
        let mut expected = text;
        while let Some(character) = self.next_char() {
            match decode(expected) {
                (Some(other), rest) if other as u32 == character as u32 => expected = rest,
                _ => return false,
            }
        }
        expected.is_empty()
    }

    const fn equal(mut self, mut other: Self) -> bool {
        loop {
            match (self.next_char(), other.next_char()) {
                (None, None) => return true,
                (Some(a), Some(b)) if a as u32 == b as u32 => {}
                _ => return false,
            }
        }
    }
}

impl Iterator for Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        self.next_char()
    }
}

/// Returns the character of a one-letter escape.
const fn single(letter: u8) -> Option<char> {
    match unescape(letter) {
        Some(meaning) => Some(meaning as char),
        None => None,
    }
}

/// Returns the character of the digits after `\u`, or of a surrogate pair, and the rest of the text.
const fn unicode(digits: &[u8]) -> (Option<char>, &[u8]) {
    let (mut unicode, mut left) = (Unicode::new(), digits);
    while let [digit, rest @ ..] = left {
        left = rest;
        match (unicode.push(*digit), rest) {
            (UnicodeStep::NeedDigit, _) => {}
            (UnicodeStep::NeedLow, [b'\\', b'u', low @ ..]) => left = low,
            (UnicodeStep::Done(code), _) => return (char::from_u32(code), rest),
            _ => break,
        }
    }
    (None, &[])
}

/// Returns the first character of a text in UTF-8, and the rest of the text.
pub(super) const fn decode(text: &[u8]) -> (Option<char>, &[u8]) {
    let (code, rest) = match text {
        [] => return (None, &[]),
        [a @ ..0x80, rest @ ..] => (*a as u32, rest),
        [a @ ..0xE0, b, rest @ ..] => (bits(0x1F, &[*a, *b]), rest),
        [a @ ..0xF0, b, c, rest @ ..] => (bits(0x0F, &[*a, *b, *c]), rest),
        [a, b, c, d, rest @ ..] => (bits(0x07, &[*a, *b, *c, *d]), rest),
        _ => return (None, &[]),
    };
    (char::from_u32(code), rest)
}

/// Returns the code point of a character in `N` bytes. `first` masks the bits of the first byte.
const fn bits<const N: usize>(first: u8, bytes: &[u8; N]) -> u32 {
    let [a, left @ ..] = bytes.as_slice() else { return 0 };
    let (mut code, mut left) = ((*a & first) as u32, left);
    while let [byte, rest @ ..] = left {
        code = (code << 6) | (*byte & 0x3F) as u32;
        left = rest;
    }
    code
}
