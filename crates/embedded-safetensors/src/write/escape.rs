//! Escapes strings as the reference implementation does.

use crate::util::bytes::WORDS;
use crate::util::bytes::copy;
use crate::util::text::after_plain;

/// The spelling of one byte.
#[derive(Clone, Copy)]
enum Spelling {
    /// Unchanged.
    Plain,
    /// A backslash and this letter.
    Letter(u8),
    /// A backslash, a `u`, and four hexadecimal digits.
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

/// The length of the longest escape.
pub(super) const LONGEST_ESCAPE: usize = "\\u0000".len();

/// Writes a byte, escaped if needed, to the front of `buffer`, and returns the length.
pub(super) fn write(byte: u8, buffer: &mut [u8; LONGEST_ESCAPE]) -> usize {
    match spelling(byte) {
        Spelling::Plain => copy(buffer, &[byte]),
        Spelling::Letter(letter) => copy(buffer, &[b'\\', letter]),
        Spelling::Digits => copy(buffer, &[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte & 15)]),
    }
}

/// Returns the number of bytes before the first one that must be escaped.
#[inline]
pub(super) fn plain_len(text: &[u8]) -> usize {
    if is_plain(text) {
        return text.len();
    }
    text.iter().position(|byte| !matches!(spelling(*byte), Spelling::Plain)).unwrap_or(text.len())
}

/// Returns the length of a text once escaped.
#[inline]
pub(super) fn escaped_len(text: &str) -> u64 {
    match is_plain(text.as_bytes()) {
        true => text.len() as u64,
        false => text.bytes().map(|byte| spelling(byte).len()).sum(),
    }
}

/// Returns whether a fast check finds nothing to escape. If `false`, there may still be nothing.
#[inline]
fn is_plain(text: &[u8]) -> bool {
    WORDS && after_plain::<false>(text).is_empty()
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

/// Returns a hexadecimal digit.
const fn hex(digit: u8) -> u8 {
    match digit {
        0..=9 => b'0' + digit,
        _ => (b'a' - 10).wrapping_add(digit),
    }
}
