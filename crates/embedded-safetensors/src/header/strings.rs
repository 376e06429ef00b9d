//! The parser's states inside strings, and for bytes that no state expects.

use super::fault::Fault;
use super::machine::{HeaderParser, Role, Signal, State, Step};
use super::text::{Unicode, UnicodeStep, Utf8Char, unescape};
use crate::bytes::low_u32;
use crate::dtype::Dtype;
use crate::error::Field;

impl HeaderParser {
    pub(super) const fn begin_string(&mut self, role: Role) -> Step {
        self.token = self.position;
        self.role = role;
        self.word.clear();
        self.go(State::Text)
    }

    /// Consumes the plain text at the start of `input`, as far as the header goes.
    pub(super) const fn take_run<'i>(&mut self, input: &mut &'i [u8]) -> &'i [u8] {
        let len = self.run_len(input);
        let Some((run, rest)) = input.split_at_checked(len) else { return &[] };
        *input = rest;
        self.position += low_u32(run.len() as u64);
        if self.role.is_word() {
            self.word.push(run);
        }
        run
    }

    const fn run_len(&mut self, input: &[u8]) -> usize {
        let within_header = match input.split_at_checked((self.end - self.position) as usize) {
            Some((header, _)) => header,
            None => input,
        };
        let mut left = within_header;
        loop {
            match left {
                [plain!(), rest @ ..] if self.utf8.missing == 0 => left = rest,
                [byte, rest @ ..] if self.take_other(*byte) => left = rest,
                _ => break,
            }
        }
        within_header.len() - left.len()
    }

    /// Takes a byte that is not plain text, if it is text at all.
    const fn take_other(&mut self, byte: u8) -> bool {
        match byte {
            0..0x20 | b'"' | b'\\' => false,
            _ => self.utf8.push(byte),
        }
    }

    /// A byte in a string that is not plain text.
    pub(super) const fn string_special(&mut self, byte: u8) -> Step {
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
    pub(super) const fn escape(&mut self, byte: u8) -> Step {
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
    pub(super) const fn unicode_digit(&mut self, byte: u8) -> Step {
        match self.unicode.push(byte) {
            UnicodeStep::NeedDigit => Step::Taken,
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
    ) -> Step {
        if byte == expected { self.go(next) } else { self.fail_at(Fault::Surrogate, self.position - back) }
    }

    const fn escaped(&mut self, character: Utf8Char) -> Step {
        self.state = State::Text;
        self.word.push(character.as_bytes());
        self.character = character;
        match self.role.piece() {
            Some(signal) => Step::Emit(signal),
            None => Step::Taken,
        }
    }

    const fn end_string(&mut self) -> Step {
        match self.role {
            Role::Name => self.end_name(),
            Role::Field => self.end_field(),
            Role::Dtype => self.end_dtype(),
            Role::Key => {
                self.after = State::KeyValue;
                self.emit(Signal::KeyEnd, State::Colon)
            }
            Role::Value => self.emit(Signal::ValueEnd, State::AfterValue),
            Role::SkipKey => self.expect_colon(State::SkipValue),
            Role::Skip => self.end_skipped(),
        }
    }

    const fn expect_colon(&mut self, after: State) -> Step {
        self.after = after;
        self.go(State::Colon)
    }

    const fn end_name(&mut self) -> Step {
        if !self.word.is(b"__metadata__") {
            self.after = State::EntryValue;
            return self.emit(Signal::Tensor, State::Colon);
        }
        // Even `null` twice is one time too many.
        if self.metadata_seen {
            return self.fail_at(Fault::MetadataTwice, self.token);
        }
        self.metadata_seen = true;
        self.after = State::MetadataValue;
        self.emit(Signal::Metadata, State::Colon)
    }

    const fn end_field(&mut self) -> Step {
        match &self.word {
            word if word.is(b"dtype") => self.begin_field(Field::Dtype, State::DtypeValue),
            word if word.is(b"shape") => self.begin_field(Field::Shape, State::ListOpen),
            word if word.is(b"data_offsets") => self.begin_field(Field::Offsets, State::ListOpen),
            _ => self.expect_colon(State::SkipValue),
        }
    }

    const fn begin_field(&mut self, field: Field, value: State) -> Step {
        let bit = 1 << field as u8;
        if self.fields & bit != 0 {
            return self.fail_at(Fault::Repeated(field), self.token);
        }
        self.fields |= bit;
        self.list = field;
        self.expect_colon(value)
    }

    /// Tries the wide dtypes first, which are the usual ones.
    const fn end_dtype(&mut self) -> Step {
        let mut left = Dtype::ALL;
        while let [rest @ .., dtype] = left {
            if self.word.is(dtype.name().as_bytes()) {
                self.dtype = *dtype;
                return self.emit(Signal::Dtype, State::AfterField);
            }
            left = rest;
        }
        self.fail_at(Fault::DtypeUnknown, self.token)
    }

    /// Whether the state is one in which a byte above 0x7F has not been through the UTF-8 check.
    pub(super) const fn may_begin_character(&self) -> bool {
        !matches!(self.state, State::Failed | State::Length | State::Text | State::Foreign)
    }

    /// An error of a byte above 0x7F waits until it is known to begin a character: if it does not, the
    /// header is not UTF-8, which is the fault that the reference reports.
    pub(super) const fn foreign(&mut self, byte: u8) -> Step {
        if !self.utf8.push(byte) {
            return self.fail_at(Fault::Utf8, self.character_start());
        }
        if self.utf8.is_open() { Step::Taken } else { Step::Fail }
    }
}
