//! JSON escapes, and the characters that they encode.

/// One character in UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Utf8Char {
    bytes: [u8; 4],
    len: u8,
}

impl Utf8Char {
    /// No character.
    pub(crate) const NONE: Self = Self { bytes: [0; 4], len: 0 };

    /// Encodes a code point, which must not be a surrogate.
    pub(crate) const fn new(code: u32) -> Self {
        // The first byte is the lowest.
        let (mut bytes, mut len, mut rest, mut max) = (0, 1, code, 0x7F);
        while rest > max {
            bytes = (bytes | 0x80 | (rest & 0x3F)) << 8;
            rest >>= 6;
            len += 1;
            max = 0x7F >> len;
        }
        let lead = if len > 1 { 0xF00 >> len & 0xFF } else { 0 };
        Self { bytes: (bytes | lead | rest).to_le_bytes(), len }
    }

    pub(crate) const fn as_bytes(&self) -> &[u8] {
        match self.bytes.split_at_checked(self.len as usize) {
            Some((used, _)) => used,
            None => &[],
        }
    }
}

/// Returns the character of a single-letter escape.
pub(crate) const fn unescape(letter: u8) -> Option<u8> {
    let (mut letters, mut meanings): (&[u8], &[u8]) = (b"\"\\/bfnrt", b"\"\\/\x08\x0C\n\r\t");
    while let ([first, letters_rest @ ..], [meaning, meanings_rest @ ..]) = (letters, meanings) {
        if *first == letter {
            return Some(*meaning);
        }
        (letters, meanings) = (letters_rest, meanings_rest);
    }
    None
}

/// A `\uXXXX` escape or a surrogate pair, read digit by digit. The lowest 20 bits hold a one bit and then the
/// digits so far. The bits above them hold the first half of a pair, also after a one bit.
#[cfg_attr(test, derive(Clone, PartialEq, Eq))]
pub(crate) struct Unicode(pub(crate) u32);

/// The result of one more hexadecimal digit.
pub(crate) enum UnicodeStep {
    NeedDigit,
    /// The first half of a pair is complete; `\u` must follow.
    NeedLow,
    /// A code point is complete.
    Done(u32),
    /// Half a pair, whose backslash is this many bytes before the digit.
    Lone(u32),
    BadDigit,
}

impl Unicode {
    /// No digits.
    const NONE: u32 = 1;
    /// Four digits.
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
            LOW_HALF => UnicodeStep::Done(0x1_0000 + ((high & Self::HALF) << 10) + half),
            _ if high != 0 => UnicodeStep::Lone(11),
            HIGH_HALF => {
                self.0 = ((Self::HALF + 1 + half) << 20) | Self::NONE;
                UnicodeStep::NeedLow
            }
            _ => UnicodeStep::Done(unit),
        }
    }
}

/// The upper bits of the first half of a surrogate pair.
const HIGH_HALF: u32 = 0xD800 >> 10;
/// The upper bits of the second half.
const LOW_HALF: u32 = 0xDC00 >> 10;
