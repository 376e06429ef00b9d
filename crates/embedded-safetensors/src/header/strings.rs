//! The parser's states inside strings, and for bytes that no state expects.

use super::machine::{HeaderParser, Signal};
use super::schema::{State, Want};
use super::text::{Unicode, UnicodeStep, Utf8Char, unescape};
use crate::dtype::Dtype;
use crate::error::Field;
use crate::error::table::Fault;
use crate::util::bytes::low_u32;

impl HeaderParser {
    pub(super) const fn begin_string(&mut self) -> Signal {
        self.token = self.position;
        self.word.clear();
        self.go(State::Text)
    }

    /// Consumes the text at the start of `left` that needs no escape.
    #[inline(always)]
    pub(super) const fn take_run<'i>(&mut self, left: &mut &'i [u8]) -> &'i [u8] {
        let len = self.run_len(left);
        let Some((run, rest)) = left.split_at_checked(len) else { return &[] };
        *left = rest;
        self.position += low_u32(len as u64);
        match (self.want, run) {
            (Want::Name, [first, ..]) if *first != b'_' && self.word.is_empty() => self.word.rule_out(),
            (Want::Name | Want::Field | Want::Dtype, _) => self.word.push(run),
            _ => {}
        }
        run
    }

    const fn run_len(&mut self, text: &[u8]) -> usize {
        let mut left = text;
        loop {
            if !self.utf8.is_open() {
                left = behind_plain(left);
            }
            match left {
                [byte, rest @ ..] if self.take_other(*byte) => left = rest,
                _ => return text.len() - left.len(),
            }
        }
    }

    /// Takes a byte that is not plain text, if it is text at all.
    const fn take_other(&mut self, byte: u8) -> bool {
        match byte {
            0..0x20 | b'"' | b'\\' => false,
            _ => self.utf8.push(byte),
        }
    }

    /// A byte in a string that is not plain text.
    pub(super) const fn string_special(&mut self, byte: u8) -> Signal {
        match byte {
            _ if self.utf8.is_open() || byte >= 0x80 => self.fail_at(Fault::Utf8, self.character_start()),
            b'"' => self.end_string(),
            b'\\' => self.go(State::Escape),
            _ => self.fail(Fault::ControlCharacter(byte)),
        }
    }

    /// Where the UTF-8 sequence began that is open.
    pub(super) const fn character_start(&self) -> u32 {
        self.position - self.utf8.seen()
    }

    #[inline(never)]
    pub(super) const fn escape(&mut self, byte: u8) -> Signal {
        if byte == b'u' {
            self.unicode = Unicode::new();
            return self.go(State::UnicodeDigits);
        }
        match unescape(byte) {
            Some(meaning) => self.escaped(Utf8Char::ascii(meaning)),
            None => self.fail(Fault::Escape(byte)),
        }
    }

    #[inline(never)]
    pub(super) const fn unicode_digit(&mut self, byte: u8) -> Signal {
        match self.unicode.push(byte) {
            UnicodeStep::NeedDigit => Signal::Taken,
            UnicodeStep::NeedLow => self.go(State::LowBackslash),
            UnicodeStep::Done(character) => self.escaped(character),
            UnicodeStep::Lone(back) => self.fail_at(Fault::Surrogate, self.position - back),
            UnicodeStep::BadDigit => self.fail(Fault::Escape(byte)),
        }
    }

    /// After the first half of a pair, which began `back` bytes ago, only `expected` may come.
    pub(super) const fn low_surrogate_begins(
        &mut self,
        byte: u8,
        expected: u8,
        back: u32,
        next: State,
    ) -> Signal {
        if byte == expected { self.go(next) } else { self.fail_at(Fault::Surrogate, self.position - back) }
    }

    const fn escaped(&mut self, character: Utf8Char) -> Signal {
        self.state = State::Text;
        self.word.push(character.as_bytes());
        self.character = character;
        match self.want.piece() {
            Some(signal) => signal,
            None => Signal::Taken,
        }
    }

    const fn end_string(&mut self) -> Signal {
        match self.want {
            Want::Name => self.end_name(),
            Want::Field => self.end_field(),
            Want::Dtype => self.end_dtype(),
            Want::Key => {
                self.want = Want::Text;
                self.emit(Signal::KeyEnd, State::Colon)
            }
            Want::Text => self.emit(Signal::ValueEnd, State::After),
            Want::SkipKey => self.expect(Want::Anything),
            _ => self.go(State::After),
        }
    }

    /// This behind a colon.
    const fn expect(&mut self, value: Want) -> Signal {
        self.want = value;
        self.go(State::Colon)
    }

    const fn end_name(&mut self) -> Signal {
        if !self.word.is(b"__metadata__") {
            self.want = Want::Entry;
            return self.emit(Signal::Tensor, State::Colon);
        }
        // Even `null` twice is one time too many.
        if self.metadata_seen {
            return self.fail_at(Fault::MetadataTwice, self.token);
        }
        self.metadata_seen = true;
        self.want = Want::Metadata;
        self.emit(Signal::Metadata, State::Colon)
    }

    const fn end_field(&mut self) -> Signal {
        let field = match &self.word {
            word if word.is(b"dtype") => Field::Dtype,
            word if word.is(b"shape") => Field::Shape,
            word if word.is(b"data_offsets") => Field::Offsets,
            _ => return self.expect(Want::Anything),
        };
        if self.fields & field.bit() != 0 {
            return self.fail_at(Fault::Repeated(field), self.token);
        }
        self.expect_field(field);
        self.go(State::Colon)
    }

    /// The value of this field behind the colon.
    pub(super) const fn expect_field(&mut self, field: Field) {
        self.fields |= field.bit();
        self.list = field;
        self.want = if let Field::Dtype = field { Want::Dtype } else { Want::List };
    }

    const fn end_dtype(&mut self) -> Signal {
        self.word.push(b"\"");
        match Dtype::quoted(self.word.as_bytes()) {
            Some((dtype, [])) => {
                self.dtype = dtype;
                self.emit(Signal::Dtype, State::After)
            }
            _ => self.fail_at(Fault::DtypeUnknown, self.token),
        }
    }

    /// Whether the state is one in which a byte above 0x7F has not been through the UTF-8 check.
    pub(super) const fn may_begin_character(&self) -> bool {
        !matches!(self.state, State::Failed | State::Length | State::Text | State::Foreign)
    }

    /// An error of a byte above 0x7F waits until it is known to begin a character: if it does not, the
    /// header is not UTF-8, which is the fault that the reference reports.
    pub(super) const fn foreign(&mut self, byte: u8) -> Signal {
        if !self.utf8.push(byte) {
            return self.fail_at(Fault::Utf8, self.character_start());
        }
        if self.utf8.is_open() { Signal::Taken } else { Signal::Failed }
    }
}

/// What follows the plain text at the start.
#[inline]
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
    while let [plain!(), rest @ ..] = left {
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
