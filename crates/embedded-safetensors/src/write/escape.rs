//! What is escaped between quotes, and how the reference escapes it.

use crate::util::bytes::WORDS;
use crate::util::bytes::copy;
use crate::util::text::behind_plain;

/// The spelling of one byte.
#[derive(Clone, Copy)]
enum Spelling {
    /// As it is.
    Plain,
    /// A backslash, and this letter.
    Letter(u8),
    /// A backslash, a `u`, and four digits in hexadecimal.
    Digits,
}

const fn spelling(byte: u8) -> Spelling {
    match byte {
        b'"' | b'\\' => Spelling::Letter(byte),
        0x08 => Spelling::Letter(b'b'),
        b'\t' => Spelling::Letter(b't'),
        b'\n' => Spelling::Letter(b'n'),
        0x0C => Spelling::Letter(b'f'),
        b'\r' => Spelling::Letter(b'r'),
        0..0x20 => Spelling::Digits,
        _ => Spelling::Plain,
    }
}

/// No escape is longer.
pub(super) const LONGEST_ESCAPE: usize = "\\u0000".len();

/// Writes a byte as it is between quotes to the front of `room`, and says how long that is.
pub(super) fn write(byte: u8, room: &mut [u8; LONGEST_ESCAPE]) -> usize {
    match spelling(byte) {
        Spelling::Plain => copy(room, &[byte]),
        Spelling::Letter(letter) => copy(room, &[b'\\', letter]),
        Spelling::Digits => copy(room, &[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte & 15)]),
    }
}

/// How many bytes come before the first one that is escaped.
#[inline]
pub(super) fn plain_len(text: &[u8]) -> usize {
    if is_plain(text) {
        return text.len();
    }
    text.iter().position(|byte| !matches!(spelling(*byte), Spelling::Plain)).unwrap_or(text.len())
}

/// How long a text is between quotes.
#[inline]
pub(super) fn escaped_len(text: &str) -> u64 {
    match is_plain(text.as_bytes()) {
        true => text.len() as u64,
        false => text.bytes().map(|byte| spelling(byte).len()).sum(),
    }
}

/// Whether nothing is escaped, where that is soon seen. Otherwise something may be.
#[inline]
fn is_plain(text: &[u8]) -> bool {
    WORDS && behind_plain::<false>(text).is_empty()
}

impl Spelling {
    const fn len(self) -> u64 {
        match self {
            Self::Plain => 1,
            Self::Letter(_) => 2,
            Self::Digits => LONGEST_ESCAPE as u64,
        }
    }
}

/// A digit in hexadecimal.
const fn hex(digit: u8) -> u8 {
    match digit {
        0..=9 => b'0' + digit,
        _ => (b'a' - 10).wrapping_add(digit),
    }
}
