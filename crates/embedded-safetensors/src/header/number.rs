//! Numbers: the plain integers of shapes and offsets, and the full JSON grammar of the numbers that
//! are only skipped.

use super::machine::{HeaderParser, Signal};
use super::schema::State;
use crate::error::Field;
use crate::error::table::Fault;

/// `value` with one more decimal digit, or `None` above 2^64 - 1.
///
/// Compares before it multiplies: a checked multiplication of 64 bits costs a 32-bit core a call.
const fn push_digit(value: u64, digit: u8) -> Option<u64> {
    let digit = (digit & 0x0F) as u64;
    if value > u64::MAX / 10 || (value == u64::MAX / 10 && digit > u64::MAX % 10) {
        return None;
    }
    Some(value * 10 + digit)
}

/// Where inside a JSON number the parser is.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Number {
    /// After the sign.
    Minus,
    /// After a leading zero, which nothing but a point or an exponent may follow.
    Zero,
    /// In the integer part.
    Integer,
    /// After the point.
    Point,
    /// In the fraction.
    Fraction,
    /// After the `e`.
    Exponent,
    /// After the exponent's sign.
    ExponentSign,
    /// In the exponent's digits.
    ExponentDigits,
}

/// What a byte makes of a number.
enum NumberStep {
    More(Number),
    /// The number was complete before this byte.
    Done,
    Bad,
}

impl Number {
    /// The state after the number's first byte, if a number can begin with it.
    pub(super) const fn begin(byte: u8) -> Option<Self> {
        match byte {
            b'-' => Some(Self::Minus),
            b'0' => Some(Self::Zero),
            b'1'..=b'9' => Some(Self::Integer),
            _ => None,
        }
    }

    const fn step(self, byte: u8) -> NumberStep {
        use NumberStep::{Bad, Done, More};
        match (self, byte) {
            (Self::Minus, b'0') => More(Self::Zero),
            (Self::Minus, b'1'..=b'9') => More(Self::Integer),
            (Self::Zero, b'0'..=b'9') => Bad,
            (Self::Integer, b'0'..=b'9') => More(Self::Integer),
            (Self::Zero | Self::Integer, b'.') => More(Self::Point),
            (Self::Point | Self::Fraction, b'0'..=b'9') => More(Self::Fraction),
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => More(Self::Exponent),
            (Self::Exponent, b'+' | b'-') => More(Self::ExponentSign),
            (Self::Exponent | Self::ExponentSign | Self::ExponentDigits, b'0'..=b'9') => {
                More(Self::ExponentDigits)
            }
            (Self::Zero | Self::Integer | Self::Fraction | Self::ExponentDigits, _) => Done,
            _ => Bad,
        }
    }
}

impl HeaderParser {
    pub(super) const fn begin_number(&mut self, byte: u8) -> Signal {
        self.token = self.position;
        self.number = (byte & 0x0F) as u64;
        self.go(State::Digits)
    }

    pub(super) const fn digits(&mut self, byte: u8) -> Signal {
        match byte {
            // No digit may follow a leading zero.
            b'0'..=b'9' if self.number == 0 => self.fail(Fault::Number),
            b'0'..=b'9' => match push_digit(self.number, byte) {
                Some(number) => {
                    self.number = number;
                    Signal::Taken
                }
                None => self.fail_at(self.of_list(Fault::ShapeRange, Fault::OffsetsRange), self.token),
            },
            b'.' | b'e' | b'E' => self.fail(self.of_list(Fault::ShapeInteger, Fault::OffsetsInteger)),
            _ => self.end_number(),
        }
    }

    const fn end_number(&mut self) -> Signal {
        self.state = State::After;
        let is_first = self.items == 0;
        if self.items < 2 {
            self.items += 1;
        }
        match self.list {
            Field::Offsets if is_first => {
                self.begin = self.number;
                self.begin_at = self.token;
                Signal::Begin
            }
            Field::Offsets => {
                self.range_end = self.number;
                Signal::End
            }
            _ => self.end_dim(),
        }
    }

    const fn end_dim(&mut self) -> Signal {
        if self.multiplies {
            match self.elements.checked_mul(self.number) {
                Some(elements) => self.elements = elements,
                None => return self.stop_here(Fault::Overflow),
            }
        }
        Signal::Dim
    }

    pub(super) const fn skip_number_begins(&mut self, byte: u8) -> Signal {
        match Number::begin(byte) {
            Some(number) => {
                self.skipped_number = number;
                self.go(State::SkipNumber)
            }
            None => self.unexpected(byte),
        }
    }

    pub(super) const fn skip_number(&mut self, byte: u8) -> Signal {
        match self.skipped_number.step(byte) {
            NumberStep::More(number) => {
                self.skipped_number = number;
                Signal::Taken
            }
            NumberStep::Done => {
                self.state = State::After;
                Signal::Again
            }
            NumberStep::Bad => self.fail(Fault::Number),
        }
    }
}
