//! Messages of build errors: text composed during const evaluation, where there is no `format!`.

use super::json_str::{JsonStr, decode};
use super::walk::tensor_at;
use crate::dtype::Dtype;
use crate::error::Error;
use crate::error::sentence::{Part, Sentence, split};
use crate::shape::ANY_SIZE;
use crate::util::bytes::{get_mut, hex_digit};

/// A text of bounded length. A longer text is cut and ends with "…".
pub(super) struct Message {
    text: [u8; Self::LONGEST],
    len: usize,
    is_full: bool,
}

/// Marks a cut.
const ELLIPSIS: &str = "…";

impl Message {
    const LONGEST: usize = 1024;
    /// Leaves space for one more character and the mark after it.
    const LAST: usize = Self::LONGEST - 4 - ELLIPSIS.len();
    /// At most this many characters of a name are shown.
    const LONGEST_NAME: u32 = 100;

    pub(super) const fn new() -> Self {
        Self { text: [0; Self::LONGEST], len: 0, is_full: false }
    }

    /// Creates the message of the command `safetensors check` for an error in this file: the `Display` text,
    /// and the tensor that the error is in.
    pub(super) const fn of(error: Error, file: &[u8]) -> Self {
        Self::about(error, tensor_at(file, error.at))
    }

    /// Creates the `Display` text of an error, with the tensor that it is in.
    pub(super) const fn about(error: Error, tensor: Option<JsonStr<'_>>) -> Self {
        let mut message = Self::new();
        message.push("error[");
        message.push(error.kind.code());
        message.push("] at byte ");
        message.push_number(error.at);
        message.push(": ");
        if let Some(name) = tensor {
            message.push("tensor ");
            message.push_quoted(&name);
            message.push(": ");
        }
        message.push_sentence(&error.sentence());
        message
    }

    const fn push_sentence(&mut self, sentence: &Sentence) {
        let (mut text, mut left) = (sentence.text, sentence.parts.as_slice());
        while let (Some((front, after)), [part, rest @ ..]) = (split(text), left) {
            self.push(front);
            self.push_part(*part);
            (text, left) = (after, rest);
        }
        self.push(text);
    }

    pub(super) const fn as_str(&self) -> &str {
        match self.text.split_at_checked(self.len) {
            Some((text, _)) => match core::str::from_utf8(text) {
                Ok(text) => text,
                Err(_) => "",
            },
            None => "",
        }
    }

    /// Returns whether `bytes` more bytes fit.
    pub(super) const fn has_space(&self, bytes: usize) -> bool {
        self.len + bytes <= Self::LAST
    }

    pub(super) const fn push(&mut self, text: &str) {
        let mut left = text.as_bytes();
        while let [byte, rest @ ..] = left {
            self.push_byte(*byte);
            left = rest;
        }
    }

    /// Appends a name in quotes, cut if it is too long.
    pub(super) const fn push_name(&mut self, name: &str) {
        self.push("\"");
        let (mut left, mut shown) = (name.as_bytes(), 0);
        while let (Some(character), rest) = decode(left) {
            left = rest;
            shown = self.push_char(character, shown);
        }
        self.push("\"");
    }

    /// Appends a name as [`push_name`](Self::push_name) does.
    pub(super) const fn push_quoted(&mut self, name: &JsonStr<'_>) {
        self.push("\"");
        let (mut left, mut shown) = (name.chars(), 0);
        while let Some(character) = left.next_char() {
            shown = self.push_char(character, shown);
        }
        self.push("\"");
    }

    pub(super) const fn push_number(&mut self, number: u64) {
        let (mut left, mut has_begun) = (number, false);
        let mut powers: &[u64] = &POWERS;
        while let [power, rest @ ..] = powers {
            let mut digit = b'0';
            while left >= *power {
                left -= *power;
                digit += 1;
            }
            has_begun |= digit != b'0' || *power == 1;
            if has_begun {
                self.push_byte(digit);
            }
            powers = rest;
        }
    }

    /// Appends a type, such as `I8 [32, 16]`.
    pub(super) const fn push_type(&mut self, dtype: Dtype, dims: &[u64]) {
        self.push(dtype.name());
        self.push(" [");
        let mut left = dims;
        while let [dim, rest @ ..] = left {
            match *dim {
                ANY_SIZE => self.push("any"),
                size => self.push_number(size),
            }
            self.push(if rest.is_empty() { "" } else { ", " });
            left = rest;
        }
        self.push("]");
    }

    pub(super) const fn push_part(&mut self, part: Part) {
        match part {
            Part::Number(number) => self.push_number(number),
            Part::Bytes(number) => {
                self.push_number(number);
                self.push(if number == 1 { " byte" } else { " bytes" });
            }
            Part::Type(dtype) => self.push(dtype.name()),
            Part::Types(mut dtypes) => {
                while let Some((dtype, separator)) = dtypes.next() {
                    self.push(dtype.name());
                    self.push(separator);
                }
            }
            Part::Member(field) => self.push(field.name()),
            Part::Role(role) => self.push(role.name()),
            Part::Byte(byte) if byte.is_ascii_graphic() => {
                self.push("'");
                self.push_byte(byte);
                self.push("'");
            }
            Part::Byte(byte) => {
                self.push("byte 0x");
                self.push_hex(&[byte]);
            }
            Part::Hex(number) => self.push_hex(&number.to_be_bytes()),
        }
    }

    const fn push_hex(&mut self, bytes: &[u8]) {
        let mut left = bytes;
        while let [byte, rest @ ..] = left {
            self.push_byte(hex_digit(*byte >> 4));
            self.push_byte(hex_digit(*byte & 0xF));
            left = rest;
        }
    }

    /// Appends a character of a name after `shown` columns. Returns the new number of columns. An escape
    /// counts with all of its characters.
    const fn push_char(&mut self, character: char, shown: u32) -> u32 {
        let with_it = shown + columns(character);
        if with_it <= Self::LONGEST_NAME {
            self.push_escaped(character);
            return with_it;
        }
        self.push(if shown <= Self::LONGEST_NAME { ELLIPSIS } else { "" });
        Self::LONGEST_NAME + 1
    }

    /// Appends a character inside quotes, escaped if it would end them or is invisible.
    const fn push_escaped(&mut self, character: char) {
        match character {
            '\n' => self.push("\\n"),
            '\r' => self.push("\\r"),
            '\t' => self.push("\\t"),
            _ if is_invisible(character) => self.push_code(character),
            _ => {
                self.push(if matches!(character, '"' | '\\') { "\\" } else { "" });
                self.push(character.encode_utf8(&mut [0; 4]));
            }
        }
    }

    /// Appends an escape such as `\u{1b}`.
    const fn push_code(&mut self, character: char) {
        self.push("\\u{");
        let (mut digits, mut has_begun) = (&(character as u32).to_be_bytes() as &[u8], false);
        while let [byte, rest @ ..] = digits {
            has_begun |= *byte >> 4 != 0;
            if has_begun {
                self.push_byte(hex_digit(*byte >> 4));
            }
            has_begun |= *byte != 0 || rest.is_empty();
            if has_begun {
                self.push_byte(hex_digit(*byte & 0xF));
            }
            digits = rest;
        }
        self.push("}");
    }

    const fn push_byte(&mut self, byte: u8) {
        let begins_character = byte & 0xC0 != 0x80;
        if begins_character && !self.is_full && self.len > Self::LAST {
            self.is_full = true;
            self.write(ELLIPSIS.as_bytes());
        }
        if !self.is_full {
            self.write(&[byte]);
        }
    }

    const fn write(&mut self, bytes: &[u8]) {
        let mut left = bytes;
        while let [byte, rest @ ..] = left {
            if let Some(slot) = get_mut(&mut self.text, self.len) {
                *slot = *byte;
                self.len += 1;
            }
            left = rest;
        }
    }
}

/// Returns at least the number of columns that [`Message::push_escaped`] writes.
const fn columns(character: char) -> u32 {
    match character {
        '\n' | '\r' | '\t' | '"' | '\\' => 2,
        _ if is_invisible(character) => 10,
        _ => 1,
    }
}

/// Returns whether a character controls a terminal, is invisible, or changes the direction of the text around
/// it.
const fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\0'..='\x1F'
            | '\x7F'..='\u{9F}'
            | '\u{AD}'
            | '\u{61C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// The powers of ten that fit in 64 bits, highest first.
const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let (mut left, mut power): (&mut [u64], u64) = (&mut powers, 1);
    while let [rest @ .., last] = left {
        *last = power;
        power = power.saturating_mul(10);
        left = rest;
    }
    powers
};
