//! Strings: pieces of text, the UTF-8 check that crosses chunk borders, escapes, and the few words
//! that the parser itself must understand.

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
    /// The piece's bytes; never empty.
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
    #[inline(always)]
    pub(crate) const fn new(code: u32) -> Self {
        let (bytes, len) = match code {
            0..0x80 => ([low_byte(code), 0, 0, 0], 1),
            0x80..0x800 => ([0xC0 | low_byte(code >> 6), tail(code), 0, 0], 2),
            0x800..0x1_0000 => ([0xE0 | low_byte(code >> 12), tail(code >> 6), tail(code), 0], 3),
            _ => ([0xF0 | low_byte(code >> 18), tail(code >> 12), tail(code >> 6), tail(code)], 4),
        };
        Self { bytes, len }
    }

    pub(crate) const fn as_bytes(&self) -> &[u8] {
        match self.bytes.split_at_checked(self.len as usize) {
            Some((used, _)) => used,
            None => &[],
        }
    }
}

const fn low_byte(code: u32) -> u8 {
    code.to_le_bytes()[0]
}

const fn tail(code: u32) -> u8 {
    0x80 | (low_byte(code) & 0x3F)
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
#[repr(align(4))]
pub(super) struct Word {
    bytes: [u8; Self::LONGEST],
    len: u8,
}

impl Word {
    /// `__metadata__` and `data_offsets`.
    const LONGEST: usize = 12;
    const TOO_LONG: u8 = 13;

    pub(super) const fn new() -> Self {
        Self { bytes: [0; Self::LONGEST], len: 0 }
    }

    pub(super) const fn clear(&mut self) {
        self.len = 0;
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

    /// Whether the whole string is this word. One loop: patterns would be compared byte by byte in line.
    #[inline(never)]
    pub(super) const fn is(&self, word: &[u8]) -> bool {
        let (mut left, mut wanted) = (self.as_bytes(), word);
        if left.len() != wanted.len() {
            return false;
        }
        while let (Some((a, a_rest)), Some((b, b_rest))) = (left.split_first(), wanted.split_first()) {
            if *a != *b {
                return false;
            }
            (left, wanted) = (a_rest, b_rest);
        }
        true
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

/// A `\uXXXX` escape, or a pair of them, while its digits come by.
pub(crate) struct Unicode {
    unit: u16,
    digits: u8,
    /// The first half of a pair, 0 while there is none.
    high: u16,
}

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
    pub(crate) const fn new() -> Self {
        Self { unit: 0, digits: 0, high: 0 }
    }

    pub(crate) const fn push(&mut self, byte: u8) -> UnicodeStep {
        let Some(digit) = hex_digit(byte) else { return UnicodeStep::BadDigit };
        self.unit = (self.unit << 4) | digit;
        self.digits += 1;
        if self.digits < 4 { UnicodeStep::NeedDigit } else { self.unit_complete() }
    }

    const fn unit_complete(&mut self) -> UnicodeStep {
        let unit = self.unit;
        self.unit = 0;
        self.digits = 0;
        match (self.high, unit) {
            (0, 0xD800..=0xDBFF) => {
                self.high = unit;
                UnicodeStep::NeedLow
            }
            (0, 0xDC00..=0xDFFF) => UnicodeStep::Lone(5),
            (0, _) => UnicodeStep::Done(Utf8Char::new(unit as u32)),
            (high, 0xDC00..=0xDFFF) => {
                let code = 0x1_0000 + ((high as u32 - 0xD800) << 10) + (unit as u32 - 0xDC00);
                UnicodeStep::Done(Utf8Char::new(code))
            }
            _ => UnicodeStep::Lone(11),
        }
    }
}

const fn hex_digit(byte: u8) -> Option<u16> {
    match byte {
        b'0'..=b'9' => Some((byte - b'0') as u16),
        b'a'..=b'f' => Some((byte - b'a') as u16 + 10),
        b'A'..=b'F' => Some((byte - b'A') as u16 + 10),
        _ => None,
    }
}
