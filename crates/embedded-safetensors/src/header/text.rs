//! Strings: pieces of text, the UTF-8 check that crosses chunk borders, escapes, and the few words
//! that the parser itself must understand.

use crate::dtype::Dtype;

/// A piece of a string: a run of the input as it stands, or one decoded escape.
///
/// Pieces may end anywhere, even inside a character; joined they are valid UTF-8 once the string
/// is complete and no error came.
///
/// *Memory*: 16 bytes, `Copy`; a run borrows from the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Text<'i>(Piece<'i>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Piece<'i> {
    Run(&'i [u8]),
    Escape(Utf8Char),
}

impl<'i> Text<'i> {
    /// The piece's bytes. Those of an event are never empty.
    pub const fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Piece::Run(run) => run,
            Piece::Escape(character) => character.as_bytes(),
        }
    }

    pub(super) const fn run(run: &'i [u8]) -> Self {
        Self(Piece::Run(run))
    }

    pub(super) const fn escape(character: Utf8Char) -> Self {
        Self(Piece::Escape(character))
    }
}

/// One character in UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Utf8Char {
    bytes: [u8; 4],
    len: u8,
}

impl Utf8Char {
    pub(super) const fn ascii(byte: u8) -> Self {
        Self { bytes: [byte, 0, 0, 0], len: 1 }
    }

    /// Encodes a code point, which must not be a surrogate.
    pub(crate) const fn new(code: u32) -> Self {
        // The first byte lowest.
        let (bytes, len) = match code {
            0..0x80 => (code, 1),
            0x80..0x800 => (0x80C0 | (code >> 6) | (low_six(code) << 8), 2),
            0x800..0x1_0000 => {
                (0x80_80E0 | (code >> 12) | (low_six(code >> 6) << 8) | (low_six(code) << 16), 3)
            }
            _ => {
                let first = 0x8080_80F0 | (code >> 18);
                (first | (low_six(code >> 12) << 8) | (low_six(code >> 6) << 16) | (low_six(code) << 24), 4)
            }
        };
        Self { bytes: bytes.to_le_bytes(), len }
    }

    pub(crate) const fn as_bytes(&self) -> &[u8] {
        match self.bytes.split_at_checked(self.len as usize) {
            Some((used, _)) => used,
            None => &[],
        }
    }
}

const fn low_six(code: u32) -> u32 {
    code & 0x3F
}

/// The state of the UTF-8 check between two bytes.
///
/// The second byte of a sequence has narrower bounds than the others where that is what rules out
/// overlong forms, surrogates and code points above U+10FFFF; `low..=high` are the bounds of the
/// byte expected next.
pub(super) struct Utf8 {
    pub(super) missing: u8,
    seen: u8,
    low: u8,
    high: u8,
}

impl Utf8 {
    pub(super) const fn new() -> Self {
        Self { missing: 0, seen: 0, low: 0x80, high: 0xBF }
    }

    /// Takes one byte. `false` when it cannot stand here; the state is then unchanged.
    pub(super) const fn push(&mut self, byte: u8) -> bool {
        if self.missing == 0 {
            return self.lead(byte);
        }
        if byte < self.low || byte > self.high {
            return false;
        }
        *self = Self { missing: self.missing - 1, seen: self.seen + 1, ..Self::new() };
        if self.missing == 0 {
            self.seen = 0;
        }
        true
    }

    const fn lead(&mut self, byte: u8) -> bool {
        let (missing, low, high) = match byte {
            0..=0x7F => return true,
            0xC2..=0xDF => (1, 0x80, 0xBF),
            0xE0 => (2, 0xA0, 0xBF),
            0xED => (2, 0x80, 0x9F),
            0xE1..=0xEF => (2, 0x80, 0xBF),
            0xF0 => (3, 0x90, 0xBF),
            0xF1..=0xF3 => (3, 0x80, 0xBF),
            0xF4 => (3, 0x80, 0x8F),
            _ => return false,
        };
        *self = Self { missing, seen: 1, low, high };
        true
    }

    /// Whether a sequence is open.
    pub(super) const fn is_open(&self) -> bool {
        self.missing > 0
    }

    /// How many bytes of an open sequence have been taken.
    pub(super) const fn seen(&self) -> u32 {
        self.seen as u32
    }
}

/// The decoded start of a string, as long as it may still be a word that the parser knows.
#[derive(Clone, Copy)]
#[repr(align(4))]
pub(super) struct Word {
    bytes: [u8; Self::LONGEST],
    len: u8,
}

impl Word {
    /// `__metadata__`, and `data_offsets` with a quote and a colon.
    const LONGEST: usize = 14;
    const TOO_LONG: u8 = 15;

    pub(super) const fn new() -> Self {
        Self { bytes: [0; Self::LONGEST], len: 0 }
    }

    pub(super) const fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What comes is none.
    pub(super) const fn rule_out(&mut self) {
        self.len = Self::TOO_LONG;
    }

    pub(super) const fn push(&mut self, text: &[u8]) {
        let (mut left, mut len) = (text, self.len);
        let Some((_, mut room)) = self.bytes.split_at_mut_checked(len as usize) else { return };
        while let [byte, rest @ ..] = left {
            let [slot, others @ ..] = room else {
                len = Self::TOO_LONG;
                break;
            };
            *slot = *byte;
            len += 1;
            (left, room) = (rest, others);
        }
        self.len = len;
    }

    /// The dtype that it is, with a quote behind its name.
    pub(super) const fn dtype(&self) -> Option<Dtype> {
        match Dtype::quoted(&self.bytes) {
            Some((dtype, rest)) if rest.len() + self.len as usize == Self::LONGEST => Some(dtype),
            _ => None,
        }
    }

    /// The whole string, or nothing known.
    pub(super) const fn as_bytes(&self) -> &[u8] {
        match self.bytes.split_at_checked(self.len as usize) {
            Some((word, _)) => word,
            None => &[],
        }
    }
}

/// What a single-letter escape stands for.
pub(crate) const fn unescape(letter: u8) -> Option<u8> {
    Some(match letter {
        b'"' | b'\\' | b'/' => letter,
        b'b' => 0x08,
        b'f' => 0x0C,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return None,
    })
}

/// A `\uXXXX` escape or a surrogate pair, read digit by digit. The lowest 20 bits hold the digits so far after a leading one bit, the bits
/// above them the first half of a pair, also after a one bit.
pub(crate) struct Unicode(u32);

/// What one more hexadecimal digit made of it.
pub(crate) enum UnicodeStep {
    NeedDigit,
    /// The first half of a pair is complete; `\u` must follow.
    NeedLow,
    Done(Utf8Char),
    /// Half a pair, whose backslash lies this many bytes before the digit.
    Lone(u32),
    BadDigit,
}

impl Unicode {
    /// No digits.
    const NONE: u32 = 1;
    /// Four of them.
    const ALL: u32 = 1 << 16;
    /// The bits that each half of a pair contributes.
    const HALF: u32 = 0x3FF;

    pub(crate) const fn new() -> Self {
        Self(Self::NONE)
    }

    pub(crate) const fn push(&mut self, byte: u8) -> UnicodeStep {
        let digit = match byte | 0x20 {
            b'0'..=b'9' if byte & 0x20 != 0 => byte - b'0',
            letter @ b'a'..=b'f' => letter - b'a' + 10,
            _ => return UnicodeStep::BadDigit,
        };
        let (high, digits) = (self.0 >> 20, ((self.0 & 0xF_FFFF) << 4) | digit as u32);
        if digits < Self::ALL {
            self.0 = (high << 20) | digits;
            return UnicodeStep::NeedDigit;
        }
        let unit = digits - Self::ALL;
        let half = unit & Self::HALF;
        match unit >> 10 {
            LOW_HALF if high == 0 => UnicodeStep::Lone(5),
            LOW_HALF => UnicodeStep::Done(Utf8Char::new(0x1_0000 + ((high & Self::HALF) << 10) + half)),
            _ if high != 0 => UnicodeStep::Lone(11),
            HIGH_HALF => {
                self.0 = ((Self::HALF + 1 + half) << 20) | Self::NONE;
                UnicodeStep::NeedLow
            }
            _ => UnicodeStep::Done(Utf8Char::new(unit)),
        }
    }
}

/// What the first half of a surrogate pair begins with.
const HIGH_HALF: u32 = 0xD800 >> 10;
/// What the second does.
const LOW_HALF: u32 = 0xDC00 >> 10;

/// Whether both are the same. One loop: patterns would be compared byte by byte in line.
#[inline(never)]
pub(super) const fn equal(a: &[u8], b: &[u8]) -> bool {
    let (mut left, mut wanted) = (a, b);
    if left.len() != wanted.len() {
        return false;
    }
    while let ([x, x_rest @ ..], [y, y_rest @ ..]) = (left, wanted) {
        if *x != *y {
            return false;
        }
        (left, wanted) = (x_rest, y_rest);
    }
    true
}

/// What follows the plain text at the start.
#[inline(never)]
pub(crate) const fn behind_plain(text: &[u8]) -> &[u8] {
    let mut left = text;
    while let Some((word, rest)) = left.split_first_chunk() {
        let special = special(usize::from_le_bytes(*word));
        if special != 0 {
            return match left.split_at_checked((special.trailing_zeros() >> 3) as usize) {
                Some((_, rest)) => rest,
                None => left,
            };
        }
        left = rest;
    }
    while let [b']'..=0x7F | b'#'..=b'[' | b' '..=b'!', rest @ ..] = left {
        left = rest;
    }
    left
}

/// What follows plain text and escapes of one letter at the start, byte by byte: in const evaluation that is faster than calls.
#[inline(never)]
pub(crate) const fn behind_escapes(text: &[u8]) -> &[u8] {
    let mut left = text;
    while let [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', rest @ ..]
    | [b']'..=0x7F | b'#'..=b'[' | b' '..=b'!', rest @ ..] = left
    {
        left = rest;
    }
    left
}

/// A bit in each byte that is not plain text, as far as the first of them. Borrows only come from such bytes.
const fn special(bytes: usize) -> usize {
    let (ones, tops) = (usize::MAX / 255, usize::MAX / 255 * 128);
    // Without its second bit a quote comes right behind the controls.
    let controls_and_quotes = (bytes ^ (ones * 2)).wrapping_sub(ones * 0x21);
    let backslashes = (bytes ^ (ones * b'\\' as usize)).wrapping_sub(ones);
    (bytes | controls_and_quotes | backslashes) & tops
}

/// What follows the words at the start that have neither a brace, nor a backslash, nor a byte above 0x7B, and whether an odd number of quotes was among
/// them.
#[inline(always)]
pub(super) const fn behind_even(text: &[u8]) -> (&[u8], bool) {
    const ONES: usize = usize::MAX / 255;
    const TOPS: usize = ONES * 0x80;
    let (mut left, mut others) = (text, 0);
    while let Some((word, rest)) = left.split_first_chunk() {
        let word = usize::from_le_bytes(*word);
        let backslashes = (word ^ (ONES * b'\\' as usize)).wrapping_sub(ONES);
        let braces = (word & !TOPS).wrapping_add(ONES * (0x80 - b'{' as usize));
        if (word | braces | backslashes) & TOPS != 0 {
            break;
        }
        // A top bit for each byte that is no quote. A word has an even number of bytes, so it has as many quotes as others, but for an even number.
        others ^= (word ^ (ONES * b'"' as usize)).wrapping_add(!TOPS);
        left = rest;
    }
    let others = others as u64;
    let others = others ^ (others >> 32);
    let others = others ^ (others >> 16);
    (left, (others ^ (others >> 8)) & 0x80 != 0)
}
