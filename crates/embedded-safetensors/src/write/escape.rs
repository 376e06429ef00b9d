//! How bytes stand between quotes: the one list of what is escaped, and how the reference escapes it.

use crate::header::{LARGE_SHORTCUTS, behind_plain};

/// The spelling of one byte.
#[derive(Clone, Copy)]
pub(super) enum Spelling {
    /// As it is.
    Plain,
    /// A backslash, and this letter.
    Letter(u8),
    /// A backslash, a `u`, and four digits in hexadecimal.
    Digits,
}

pub(super) const fn spelling(byte: u8) -> Spelling {
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

/// How long a text is between quotes.
#[inline]
pub(super) fn escaped_len(text: &str) -> u64 {
    match LARGE_SHORTCUTS && behind_plain(text.as_bytes()).is_empty() {
        true => text.len() as u64,
        false => spelled_len(text),
    }
}

fn spelled_len(text: &str) -> u64 {
    text.bytes().map(|byte| spelling(byte).len()).sum()
}

impl Spelling {
    pub(super) const fn is_plain(self) -> bool {
        matches!(self, Self::Plain)
    }

    const fn len(self) -> u64 {
        match self {
            Self::Plain => 1,
            Self::Letter(_) => 2,
            Self::Digits => 6,
        }
    }
}

/// A digit in hexadecimal.
pub(super) const fn hex(digit: u8) -> u8 {
    match digit {
        0..=9 => b'0' + digit,
        _ => (b'a' - 10).wrapping_add(digit),
    }
}
