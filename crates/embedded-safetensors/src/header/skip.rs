//! Values that nobody asked for.

use super::fault::Fault;
use super::machine::{HeaderParser, Literal, Role, State, Step};
use super::number::{Number, NumberStep};

/// The kinds of the brackets that are open inside a skipped value, one bit each.
///
/// *Memory*: 20 bytes.
pub(super) struct Nesting {
    /// Bit set: an object.
    kinds: [u32; 4],
    depth: u8,
}

impl Nesting {
    /// The reference gives up at the 128th open bracket. Two are open around every skipped value:
    /// the header's and the entry's.
    const LIMIT: u8 = 127 - 2;

    pub(super) const fn new() -> Self {
        Self { kinds: [0; 4], depth: 0 }
    }

    /// Opens an object or an array; `false` when that is one too many.
    pub(super) const fn open(&mut self, object: bool) -> bool {
        if self.depth == Self::LIMIT {
            return false;
        }
        let bit = 1 << (self.depth & 31);
        let word = self.word(self.depth);
        *word = if object { *word | bit } else { *word & !bit };
        self.depth += 1;
        true
    }

    /// Closes the innermost bracket, if it is of that kind.
    pub(super) const fn close(&mut self, object: bool) -> bool {
        if self.is_empty() || self.in_object() != object {
            return false;
        }
        self.depth -= 1;
        true
    }

    /// Whether the innermost bracket is an object's.
    pub(super) const fn in_object(&mut self) -> bool {
        let innermost = self.depth.wrapping_sub(1);
        *self.word(innermost) & (1 << (innermost & 31)) != 0
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.depth == 0
    }

    const fn word(&mut self, level: u8) -> &mut u32 {
        let [a, b, c, d] = &mut self.kinds;
        match level >> 5 {
            0 => a,
            1 => b,
            2 => c,
            _ => d,
        }
    }
}

/// The parser's states inside a value that is only skipped.
impl HeaderParser {
    pub(super) const fn skip_value(&mut self, byte: u8) -> Step {
        if let Some(number) = Number::begin(byte) {
            self.skipped_number = number;
            return self.go(State::SkipNumber);
        }
        if let Some(literal) = Literal::begin(byte) {
            let after = self.after_skipped();
            return self.begin_literal(literal, after);
        }
        match byte {
            b'"' => self.begin_string(Role::Skip),
            b'{' => self.skip_open(true, State::SkipFirstKey),
            b'[' => self.skip_open(false, State::SkipFirstItem),
            _ => self.unexpected(byte),
        }
    }

    const fn skip_open(&mut self, object: bool, next: State) -> Step {
        if self.nesting.open(object) { self.go(next) } else { self.fail(Fault::Depth) }
    }

    pub(super) const fn skip_first_item(&mut self, byte: u8) -> Step {
        match byte {
            b']' => self.skip_close(byte),
            _ => self.skip_value(byte),
        }
    }

    pub(super) const fn skip_first_key(&mut self, byte: u8) -> Step {
        match byte {
            b'}' => self.skip_close(byte),
            _ => self.key(byte, Role::SkipKey),
        }
    }

    pub(super) const fn after_skip(&mut self, byte: u8) -> Step {
        match byte {
            b',' if self.nesting.in_object() => self.go(State::SkipNextKey),
            b',' => self.go(State::SkipValue),
            _ => self.skip_close(byte),
        }
    }

    const fn skip_close(&mut self, byte: u8) -> Step {
        let closed = match byte {
            b'}' => self.nesting.close(true),
            b']' => self.nesting.close(false),
            _ => false,
        };
        if closed { self.end_skipped() } else { self.unexpected(byte) }
    }

    /// A value inside a skipped one is complete, or the skipped one itself.
    pub(super) const fn end_skipped(&mut self) -> Step {
        let after = self.after_skipped();
        self.go(after)
    }

    const fn after_skipped(&self) -> State {
        if self.nesting.is_empty() { State::AfterField } else { State::AfterSkip }
    }

    pub(super) const fn skip_number(&mut self, byte: u8) -> Step {
        match self.skipped_number.step(byte) {
            NumberStep::More(number) => {
                self.skipped_number = number;
                Step::Taken
            }
            NumberStep::Done => {
                self.state = self.after_skipped();
                Step::Again
            }
            NumberStep::Bad => self.fail(Fault::Number),
        }
    }
}
