//! Strings: pieces of text, UTF-8 validation across chunks, and the few words that the parser itself must
//! recognise.

use crate::dtype::Dtype;
use crate::error::Field;
use crate::util::bytes::low_u8;
use crate::util::escapes::Utf8Char;

/// A piece of a string: unescaped bytes of the input, or one decoded escape.
///
/// Pieces may end anywhere, even inside a character. Joined, they are valid UTF-8 once the string is complete
/// without an error.
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
    /// Returns the piece's bytes. The piece of an event is never empty.
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

/// The state of UTF-8 validation between two bytes.
///
/// The second byte of some sequences has narrower bounds, which rule out overlong forms, surrogates and code
/// points above U+10FFFF. `low..=high` are the bounds of the byte expected next.
#[cfg_attr(test, derive(Clone, PartialEq, Eq))]
pub(super) struct Utf8 {
    pub(super) missing: u8,
    seen: u8,
    low: u8,
    high: u8,
}

impl Utf8 {
    pub(super) const fn new() -> Self {
        Self { missing: 0, seen: 0, low: 0, high: 0 }
    }

    /// Takes one byte. Returns `false`, and leaves the state unchanged, if the byte is not valid here.
    pub(super) const fn push(&mut self, byte: u8) -> bool {
        if self.missing == 0 {
            return self.lead(byte);
        }
        if byte < self.low || byte > self.high {
            return false;
        }
        let missing = self.missing - 1;
        *self = Self { missing, seen: if missing == 0 { 0 } else { self.seen + 1 }, low: 0x80, high: 0xBF };
        true
    }

    const fn lead(&mut self, byte: u8) -> bool {
        if byte < 0xC2 || byte > 0xF4 {
            return byte < 0x80;
        }
        let low = match byte {
            0xE0 => 0xA0,
            0xF0 => 0x90,
            _ => 0x80,
        };
        let high = match byte {
            0xED => 0x9F,
            0xF4 => 0x8F,
            _ => 0xBF,
        };
        *self = Self { missing: 1 + (byte >= 0xE0) as u8 + (byte >= 0xF0) as u8, seen: 1, low, high };
        true
    }

    /// Whether a sequence is incomplete.
    pub(super) const fn is_open(&self) -> bool {
        self.missing > 0
    }

    /// Returns how many bytes of an incomplete sequence have been taken.
    pub(super) const fn seen(&self) -> u32 {
        self.seen as u32
    }
}

/// The decoded start of a string, while it may still be a word that the parser recognises.
#[derive(Clone, Copy)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct Word {
    bytes: [u8; Self::LONGEST],
    len: u8,
}

// A longer key would be recognised if it is contiguous in the input, but not if it is split.
const _: () = {
    let mut left = Field::ALL;
    while let [field, rest @ ..] = left {
        assert!(field.name().len() <= Word::LONGEST, "lengthen Word");
        left = rest;
    }
};

impl Word {
    /// The length of `__metadata__`, `data_offsets`, and `F8_E4M3FNUZ` with a quote.
    const LONGEST: usize = 12;
    const TOO_LONG: u8 = low_u8(Self::LONGEST) + 1;

    pub(super) const fn new() -> Self {
        Self { bytes: [0; Self::LONGEST], len: 0 }
    }

    pub(super) const fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Records that the string is no such word.
    pub(super) const fn rule_out(&mut self) {
        self.len = Self::TOO_LONG;
    }

    pub(super) const fn push(&mut self, text: &[u8]) {
        let (mut left, mut len) = (text, self.len);
        let Some((_, mut free)) = self.bytes.split_at_mut_checked(len as usize) else { return };
        while let [byte, rest @ ..] = left {
            let [slot, others @ ..] = free else {
                len = Self::TOO_LONG;
                break;
            };
            *slot = *byte;
            len += 1;
            (left, free) = (rest, others);
        }
        self.len = len;
    }

    /// Returns the dtype whose name, followed by a quote, is the word.
    pub(super) const fn dtype(&self) -> Option<Dtype> {
        match Dtype::quoted(&self.bytes) {
            Some((dtype, len)) if len == self.len => Some(dtype),
            _ => None,
        }
    }

    /// Returns the entire string, or nothing if it is too long for a word.
    pub(super) const fn as_bytes(&self) -> &[u8] {
        match self.bytes.split_at_checked(self.len as usize) {
            Some((word, _)) => word,
            None => &[],
        }
    }
}
