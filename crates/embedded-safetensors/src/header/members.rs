//! The parser's states between strings: the container, entries, lists of integers, `__metadata__`.

use super::fault::Fault;
use super::machine::{HeaderParser, Literal, Role, Signal, State, Step};
use super::number::push_digit;
use crate::bytes::low_u32;
use crate::error::{Field, MAX_HEADER_LEN};

impl HeaderParser {
    /// 8 bytes, little-endian; at most 100,000,000 inclusive.
    pub(super) const fn length(&mut self, byte: u8) -> Step {
        self.number |= (byte as u64) << (self.position << 3);
        if self.position < 7 {
            return Step::Taken;
        }
        let length = self.number;
        if length > MAX_HEADER_LEN {
            return self.fail_at(Fault::HeaderTooLarge, 0);
        }
        self.end = low_u32(length) + 8;
        self.emit(Signal::Length, State::Open)
    }

    pub(super) const fn open(&mut self, byte: u8) -> Step {
        match byte {
            b'{' => self.go(State::FirstName),
            _ => self.wrong_type(byte, Fault::HeaderType),
        }
    }

    pub(super) const fn key(&mut self, byte: u8, role: Role) -> Step {
        match byte {
            b'"' => self.begin_string(role),
            _ => self.unexpected(byte),
        }
    }

    pub(super) const fn key_or_close(&mut self, byte: u8, role: Role) -> Step {
        match byte {
            b'}' => self.close_object(role),
            _ => self.key(byte, role),
        }
    }

    pub(super) const fn comma_or_close(&mut self, byte: u8, next: State) -> Step {
        match (byte, next) {
            (b',', _) => self.go(next),
            (b'}', State::NextName) => self.close_object(Role::Name),
            (b'}', State::NextField) => self.close_object(Role::Field),
            (b'}', _) => self.close_object(Role::Key),
            _ => self.unexpected(byte),
        }
    }

    /// Closes the object whose keys have this role.
    const fn close_object(&mut self, keys: Role) -> Step {
        match keys {
            Role::Name => self.go(State::Tail),
            Role::Field => self.end_entry(),
            _ => {
                self.token = self.position;
                self.emit(Signal::MetadataEnd, State::AfterMember)
            }
        }
    }

    pub(super) const fn colon(&mut self, byte: u8) -> Step {
        match byte {
            b':' => self.go(self.after),
            _ => self.unexpected(byte),
        }
    }

    pub(super) const fn entry_value(&mut self, byte: u8) -> Step {
        match byte {
            b'{' => {
                self.fields = 0;
                self.go(State::FirstField)
            }
            b'[' => self.fail(Fault::EntryArray),
            _ => self.wrong_type(byte, Fault::EntryType),
        }
    }

    const fn end_entry(&mut self) -> Step {
        self.token = self.position;
        let missing = match self.fields {
            0b111 => return self.emit(Signal::TensorEnd, State::AfterMember),
            fields if fields & 0b001 == 0 => Field::Dtype,
            fields if fields & 0b010 == 0 => Field::Shape,
            _ => Field::Offsets,
        };
        self.fail(Fault::Missing(missing))
    }

    pub(super) const fn dtype_value(&mut self, byte: u8) -> Step {
        match byte {
            b'"' => self.begin_string(Role::Dtype),
            b'{' => self.fail(Fault::DtypeObject),
            _ => self.wrong_type(byte, Fault::DtypeType),
        }
    }

    pub(super) const fn list_open(&mut self, byte: u8) -> Step {
        if byte != b'[' {
            return self.wrong_type(byte, Fault::ListType(self.list));
        }
        self.items = 0;
        match self.list {
            Field::Offsets => self.go(State::FirstNumber),
            _ => {
                self.token = self.position;
                self.emit(Signal::Shape, State::FirstNumber)
            }
        }
    }

    pub(super) const fn first_number(&mut self, byte: u8) -> Step {
        match byte {
            b']' => self.close_list(),
            _ => self.begin_number(byte),
        }
    }

    pub(super) const fn begin_number(&mut self, byte: u8) -> Step {
        match byte {
            b'0'..=b'9' => {
                self.token = self.position;
                self.number = 0;
                self.state = State::Digits;
                Step::Again
            }
            _ => self.wrong_type(byte, Fault::NotAnInteger(self.list)),
        }
    }

    pub(super) const fn digits(&mut self, byte: u8) -> Step {
        match byte {
            b'0'..=b'9' => self.digit(byte),
            b'.' | b'e' | b'E' => self.fail(Fault::NotAnInteger(self.list)),
            _ => self.end_number(),
        }
    }

    const fn digit(&mut self, byte: u8) -> Step {
        let leading_zero = self.number == 0 && self.position != self.token;
        if leading_zero {
            return self.fail(Fault::Number);
        }
        match push_digit(self.number, byte) {
            Some(number) => self.number = number,
            None => return self.fail_at(Fault::IntegerRange(self.list), self.token),
        }
        Step::Taken
    }

    const fn end_number(&mut self) -> Step {
        self.state = State::AfterNumber;
        let signal = match (self.list, self.items) {
            (Field::Offsets, 0) => Signal::Begin,
            (Field::Offsets, _) => Signal::End,
            _ => Signal::Dim,
        };
        if self.items < 2 {
            self.items += 1;
        }
        Step::EmitBefore(signal)
    }

    pub(super) const fn after_number(&mut self, byte: u8) -> Step {
        match (byte, self.list, self.items) {
            (b']', ..) => self.close_list(),
            (b',', Field::Offsets, 2) => self.fail(Fault::OffsetsCount),
            (b',', ..) => self.go(State::NextNumber),
            _ => self.unexpected(byte),
        }
    }

    const fn close_list(&mut self) -> Step {
        match (self.list, self.items) {
            (Field::Offsets, 0 | 1) => self.fail(Fault::OffsetsCount),
            _ => self.go(State::AfterField),
        }
    }

    pub(super) const fn metadata_value(&mut self, byte: u8) -> Step {
        match byte {
            b'{' => self.go(State::FirstKey),
            b'n' => self.begin_literal(Literal::Null, State::AfterMember),
            _ => self.wrong_type(byte, Fault::MetadataType),
        }
    }

    pub(super) const fn key_value(&mut self, byte: u8) -> Step {
        match byte {
            b'"' => self.begin_string(Role::Value),
            _ => self.wrong_type(byte, Fault::MetadataValue),
        }
    }

    pub(super) const fn begin_literal(&mut self, literal: Literal, after: State) -> Step {
        self.token = self.position;
        self.literal = literal;
        self.literal_seen = 1;
        self.after = after;
        self.go(State::Literal)
    }

    pub(super) const fn literal(&mut self, byte: u8) -> Step {
        let letters = match self.literal.letters().split_at_checked(self.literal_seen as usize) {
            Some((_, left)) => left,
            None => &[],
        };
        match letters {
            [last] if *last == byte => self.end_literal(),
            [letter, ..] if *letter == byte => {
                self.literal_seen += 1;
                Step::Taken
            }
            _ => self.unexpected(byte),
        }
    }

    /// A literal that stands for a member of the header can only be the `null` of `__metadata__`.
    const fn end_literal(&mut self) -> Step {
        match self.after {
            State::AfterMember => self.emit(Signal::MetadataNull, State::AfterMember),
            after => self.go(after),
        }
    }
}
