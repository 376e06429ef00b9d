//! The one parser of the project.
//!
//! # For the next maintainer
//!
//! A header is `length, object`; the object maps names to entries, and `__metadata__` to strings:
//!
//! ```text
//! Length → Open → FirstName ─ string Name ─ Colon ─┬ EntryValue → fields … → AfterMember ─┬ NextName
//!                                                  └ MetadataValue → keys … → AfterMember ┘   │
//!                                                                       Tail ← … `}` ─────────┘
//! fields:  FirstField ─ string Field ─ Colon ─┬ DtypeValue ─ string Dtype ─┬ AfterField ─ NextField …
//!                                             ├ ListOpen → numbers ────────┤
//!                                             └ SkipValue → anything ──────┘
//! ```
//!
//! * One byte, one call of one short function: [`HeaderParser::step`] only dispatches, in the order
//!   of the grammar. A function looks at the byte and says what becomes of it ([`Step`]).
//! * Repeated shapes are one state with a parameter: a string has a [`Role`] that says what it is
//!   for, a colon and a literal know the state that comes [`after`](HeaderParser::after) them,
//!   shape and offsets are one list of integers with a [`Field`].
//! * Whitespace is legal in every state from [`State::Open`] on, and handled once, before dispatch.
//! * Nothing is buffered: text leaves in pieces as it comes. Only the first twelve bytes of a string
//!   are kept ([`Word`]), because keys and dtypes must be understood.
//! * Inside the parser positions are `u32`: a header ends at byte 100,000,008 at the latest.
//! * The whole header is proven UTF-8. Inside strings the check runs with the text. Anywhere else a
//!   byte above 0x7F is an error already; which one depends on whether the bytes after it complete
//!   a character, so the error waits in `fault` while [`State::Foreign`] looks at them.
//! * After an error the state is [`State::Failed`] and every call repeats the error.
//! * `usual` is a shortcut past the machine, for input that holds whole entries, or `__metadata__`, in the
//!   one spelling that writers use. It takes nothing of which the machine would say anything else.
//! * Stacks are small. Inside the crate an event is a [`Signal`] and an error a [`Fault`]; what else
//!   there is to say of them stays where it is until someone asks. The rare long functions are kept
//!   out of line, so that their frames do not lie under every byte.
//!
//! If you add a state: put it above or below [`State::Open`] according to whether whitespace is
//! legal in it, add its line to `step`, and add vectors for what may and may not come in it. If
//! you add a role: say in `end_string` what follows, in [`Role::piece`] whether its text is an event,
//! and in [`Role::is_word`] whether it may be a word. If you add a word longer than twelve bytes,
//! lengthen `Word`. If you add an error: give it a [`Fault`].

use super::fault::Fault;
use super::number::Number;
use super::skip::Nesting;
use super::text::{Unicode, Utf8, Utf8Char, Word};
use super::usual::{self, Usual};
use crate::bytes::low_u32;
use crate::dtype::Dtype;
use crate::error::{Error, Field};
use crate::progress::Progress;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum State {
    Failed,
    Length,
    Text,
    Escape,
    UnicodeDigits,
    LowBackslash,
    LowU,
    Digits,
    SkipNumber,
    Literal,
    Foreign,
    /// From here on whitespace is legal.
    Open,
    FirstName,
    NextName,
    AfterMember,
    Tail,
    Colon,
    EntryValue,
    FirstField,
    NextField,
    AfterField,
    DtypeValue,
    ListOpen,
    FirstNumber,
    NextNumber,
    AfterNumber,
    MetadataValue,
    FirstKey,
    NextKey,
    KeyValue,
    AfterValue,
    SkipValue,
    SkipFirstItem,
    SkipFirstKey,
    SkipNextKey,
    AfterSkip,
}

/// What a string is for.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Role {
    Name,
    Field,
    Dtype,
    Key,
    Value,
    SkipKey,
    Skip,
}

impl Role {
    /// Whether such a string can be a word that the parser must understand.
    pub(super) const fn is_word(self) -> bool {
        matches!(self, Self::Name | Self::Field | Self::Dtype)
    }

    /// What a piece of such a string is reported as, if it is.
    pub(super) const fn piece(self) -> Option<Signal> {
        match self {
            Self::Name => Some(Signal::Name),
            Self::Key => Some(Signal::Key),
            Self::Value => Some(Signal::Value),
            Self::Field | Self::Dtype | Self::SkipKey | Self::Skip => None,
        }
    }
}

/// An event of the parser in one byte. What it tells besides stays in the parser until the next call.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Signal {
    NeedInput,
    Length,
    Name,
    Tensor,
    Metadata,
    Dtype,
    Shape,
    Dim,
    Begin,
    End,
    TensorEnd,
    MetadataNull,
    Key,
    KeyEnd,
    Value,
    ValueEnd,
    MetadataEnd,
    HeaderEnd,
    /// No event: the parser's last word is an error.
    Failed,
}

impl Signal {
    /// Whether a tensor is complete, or the header, or no more can be read.
    pub(crate) const fn ends(self) -> bool {
        matches!(self, Self::TensorEnd | Self::HeaderEnd | Self::NeedInput | Self::Failed)
    }

    /// What it means to whoever feeds a machine that takes one pass; nothing when that has failed.
    pub(crate) const fn progress(self) -> Option<Progress> {
        match self {
            Self::Failed => None,
            Self::HeaderEnd => Some(Progress::Done),
            _ => Some(Progress::NeedInput),
        }
    }
}

/// What becomes of a byte.
pub(super) enum Step {
    /// Consumed, nothing to report.
    Taken,
    /// Consumed, and it completed an event.
    Emit(Signal),
    /// Not consumed: it ended what came before it, which is an event.
    EmitBefore(Signal),
    /// Not consumed: look at it again in the new state.
    Again,
    /// Not consumed: the error waits in `fault`.
    Fail,
}

/// The words of JSON, by their first letter.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Literal {
    True,
    False,
    Null,
}

impl Literal {
    pub(super) const fn begin(byte: u8) -> Option<Self> {
        match byte {
            b't' => Some(Self::True),
            b'f' => Some(Self::False),
            b'n' => Some(Self::Null),
            _ => None,
        }
    }

    pub(super) const fn letters(self) -> &'static [u8] {
        match self {
            Self::True => b"true",
            Self::False => b"false",
            Self::Null => b"null",
        }
    }
}

/// An incremental parser of a safetensors header, resumable at every byte.
///
/// Feed it the file from byte 0, in chunks of any size. It checks everything that can be said of a
/// header without arithmetic on shapes and offsets: the length, UTF-8, JSON, and the types of all
/// members. It keeps no text; names of any length and shapes of any rank stream through it.
///
/// *Memory*: at most 88 bytes, no heap, no recursion. The input is not kept.
///
/// ```
/// use embedded_safetensors::{Event, HeaderParser};
///
/// # fn main() -> Result<(), embedded_safetensors::Error> {
/// let mut parser = HeaderParser::new();
/// let mut first: &[u8] = b"\x39\0\0\0\0\0\0\0{\"bi";
/// assert_eq!(parser.next(&mut first)?, Event::Length(57));
/// assert!(matches!(parser.next(&mut first)?, Event::Name(piece) if piece.as_bytes() == b"bi"));
/// assert_eq!(parser.next(&mut first)?, Event::NeedInput);
///
/// let mut second: &[u8] = b"as\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
/// assert!(matches!(parser.next(&mut second)?, Event::Name(piece) if piece.as_bytes() == b"as"));
/// assert_eq!(parser.next(&mut second)?, Event::Tensor);
/// # Ok(())
/// # }
/// ```
pub struct HeaderParser {
    /// The value of the integer being read; of the header's length first.
    pub(super) number: u64,
    pub(super) position: u32,
    /// Where the header ends; where its length ends until that is known.
    pub(super) end: u32,
    pub(super) token: u32,
    /// Where the fault is.
    pub(super) fault_at: u32,
    /// The parser's last word once the state is [`State::Failed`]; before that, an error may wait here.
    fault: Fault,
    pub(super) nesting: Nesting,
    pub(super) word: Word,
    pub(super) utf8: Utf8,
    pub(super) unicode: Unicode,
    /// The last character that was spelled as an escape.
    pub(super) character: Utf8Char,
    pub(super) state: State,
    /// What follows a colon or a literal.
    pub(super) after: State,
    pub(super) role: Role,
    pub(super) skipped_number: Number,
    pub(super) literal: Literal,
    pub(super) literal_seen: u8,
    pub(super) dtype: Dtype,
    pub(super) list: Field,
    /// How many numbers of the list are complete; stops counting at 2.
    pub(super) items: u8,
    /// One bit for each member that the entry has so far.
    pub(super) fields: u8,
    pub(super) metadata_seen: bool,
}

/// Where the length of the header ends and the header begins.
const LENGTH_END: u32 = 8;

impl Default for HeaderParser {
    fn default() -> Self {
        Self::new()
    }
}

impl HeaderParser {
    /// A parser that stands before byte 0 of a file.
    pub const fn new() -> Self {
        Self::of_file(None)
    }

    /// As [`new`](Self::new). A file that is known to be too short for any header has failed already.
    pub(crate) const fn of_file(file_len: Option<u64>) -> Self {
        let (state, fault_at) = match file_len {
            Some(file_len @ 0..8) => (State::Failed, low_u32(file_len)),
            _ => (State::Length, 0),
        };
        Self {
            number: 0,
            position: 0,
            end: LENGTH_END,
            token: 0,
            fault_at,
            fault: Fault::FileTooShort,
            nesting: Nesting::new(),
            word: Word::new(),
            utf8: Utf8::new(),
            unicode: Unicode::new(),
            character: Utf8Char::ascii(0),
            state,
            after: State::Tail,
            role: Role::Name,
            skipped_number: Number::Zero,
            literal: Literal::Null,
            literal_seen: 0,
            dtype: Dtype::BOOL,
            list: Field::Shape,
            items: 0,
            fields: 0,
            metadata_seen: false,
        }
    }

    /// How many bytes of the file have been consumed.
    pub const fn position(&self) -> u64 {
        self.position as u64
    }

    /// Where in the file the token began that the last event came from: a string's opening quote, a
    /// number's first digit, a bracket; the end of the header for
    /// [`HeaderEnd`](super::Event::HeaderEnd). Not meaningful before the first event, after
    /// [`NeedInput`](super::Event::NeedInput) or after an error.
    pub const fn event_start(&self) -> u64 {
        self.token as u64
    }

    /// How long the header is, once its first 8 bytes are consumed.
    pub const fn header_len(&self) -> Option<u64> {
        if self.position < LENGTH_END { None } else { Some((self.end - LENGTH_END) as u64) }
    }

    /// Reads on until there is something to report, and moves `input` past what it consumed. A piece of
    /// text that stands in the input is left in `run`; one that does not leaves an empty `run`.
    #[inline(never)]
    pub(crate) const fn advance<'i>(&mut self, input: &mut &'i [u8], run: &mut &'i [u8]) -> Signal {
        *run = &[];
        if let State::Failed = self.state {
            return Signal::Failed;
        }
        loop {
            if self.position == self.end {
                return self.at_end();
            }
            if let State::Text = self.state {
                *run = self.take_run(input);
                match (*run, self.role.piece()) {
                    ([], _) => {}
                    (_, Some(signal)) => return signal,
                    (_, None) => continue,
                }
            }
            let &[byte, ref rest @ ..] = *input else { return Signal::NeedInput };
            match self.step(byte) {
                Step::Taken => {
                    *input = rest;
                    self.position += 1;
                }
                Step::Emit(signal) => {
                    *input = rest;
                    self.position += 1;
                    return signal;
                }
                Step::EmitBefore(signal) => return signal,
                Step::Again => {}
                Step::Fail if byte >= 0x80 && self.may_begin_character() => self.state = State::Foreign,
                Step::Fail => {
                    self.state = State::Failed;
                    return Signal::Failed;
                }
            }
        }
    }

    /// Makes this the parser's last word.
    pub(crate) const fn stop(&mut self, fault: Fault, at: u32) -> Signal {
        self.fail_at(fault, at);
        self.state = State::Failed;
        Signal::Failed
    }

    /// As [`stop`](Self::stop), at the last token.
    pub(crate) const fn stop_here(&mut self, fault: Fault) -> Signal {
        self.stop(fault, self.token)
    }

    /// Takes the next member of the header, if all of it stands in `input` and it is a tensor in the usual
    /// spelling.
    pub(super) const fn take_usual<'i>(&mut self, input: &mut &'i [u8]) -> Option<Usual<'i>> {
        let (State::AfterMember, [b',', b'"', name @ ..]) = (self.state, *input) else { return None };
        let Some(room) = (self.end - self.position).checked_sub(2) else { return None };
        let Some(entry) = Usual::entry(name, self.position + 1, room) else { return None };
        self.position = entry.end_at;
        self.token = self.position - 1;
        self.dtype = entry.dtype;
        *input = entry.rest;
        Some(entry)
    }

    /// Takes the next member of the header, if all of it stands in `input` and it is `__metadata__` in the usual
    /// spelling, for the first time. As good as [`Signal::MetadataEnd`].
    pub(super) const fn take_metadata(&mut self, input: &mut &[u8]) -> bool {
        let ((State::Open, [b'{', text @ ..]) | (State::AfterMember, [b',', text @ ..])) =
            (self.state, *input)
        else {
            return false;
        };
        if self.metadata_seen {
            return false;
        }
        let Some(rest) = usual::metadata(text) else { return false };
        let taken = (input.len() - rest.len()) as u64;
        if taken > (self.end - self.position) as u64 {
            return false;
        }
        self.position += low_u32(taken);
        self.token = self.position - 1;
        self.metadata_seen = true;
        self.state = State::AfterMember;
        *input = rest;
        true
    }

    pub(super) const fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed)
    }

    /// Whether all of the header has been seen and nothing was found wrong.
    pub(crate) const fn is_complete(&self) -> bool {
        matches!(self.state, State::Tail) && self.position == self.end
    }

    /// What is behind [`Signal::Failed`].
    pub(crate) const fn fault(&self) -> Fault {
        self.fault
    }

    /// The error behind [`Signal::Failed`], as far as the parser knows it.
    pub(crate) const fn error(&self) -> Error {
        let at = self.fault_at as u64;
        let length = if self.position < LENGTH_END { self.number } else { (self.end - LENGTH_END) as u64 };
        self.fault.kind(length, at).at(at)
    }

    pub(super) const fn at_end(&mut self) -> Signal {
        match self.state {
            State::Failed => Signal::Failed,
            State::Tail => {
                self.token = self.position;
                Signal::HeaderEnd
            }
            _ if self.utf8.is_open() => self.stop(Fault::Utf8, self.character_start()),
            _ => self.stop(Fault::UnexpectedEnd, self.position),
        }
    }

    const fn step(&mut self, byte: u8) -> Step {
        if self.state as u8 >= State::Open as u8 && matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            return Step::Taken;
        }
        match self.state {
            State::Failed => Step::Fail,
            State::Length => self.length(byte),
            State::Open => self.open(byte),
            State::FirstName => self.key_or_close(byte, Role::Name),
            State::NextName => self.key(byte, Role::Name),
            State::AfterMember => self.comma_or_close(byte, State::NextName),
            State::Tail => self.fail(Fault::Trailing(byte)),
            State::Colon => self.colon(byte),
            State::Text => self.string_special(byte),
            State::Escape => self.escape(byte),
            State::UnicodeDigits => self.unicode_digit(byte),
            State::LowBackslash => self.low_surrogate_begins(byte, b'\\', 6, State::LowU),
            State::LowU => self.low_surrogate_begins(byte, b'u', 7, State::UnicodeDigits),
            State::EntryValue => self.entry_value(byte),
            State::FirstField => self.key_or_close(byte, Role::Field),
            State::NextField => self.key(byte, Role::Field),
            State::AfterField => self.comma_or_close(byte, State::NextField),
            State::DtypeValue => self.dtype_value(byte),
            State::ListOpen => self.list_open(byte),
            State::FirstNumber => self.first_number(byte),
            State::NextNumber => self.begin_number(byte),
            State::Digits => self.digits(byte),
            State::AfterNumber => self.after_number(byte),
            State::MetadataValue => self.metadata_value(byte),
            State::FirstKey => self.key_or_close(byte, Role::Key),
            State::NextKey => self.key(byte, Role::Key),
            State::KeyValue => self.key_value(byte),
            State::AfterValue => self.comma_or_close(byte, State::NextKey),
            State::SkipValue => self.skip_value(byte),
            State::SkipFirstItem => self.skip_first_item(byte),
            State::SkipFirstKey => self.skip_first_key(byte),
            State::SkipNextKey => self.key(byte, Role::SkipKey),
            State::SkipNumber => self.skip_number(byte),
            State::AfterSkip => self.after_skip(byte),
            State::Literal => self.literal(byte),
            State::Foreign => self.foreign(byte),
        }
    }

    pub(super) const fn go(&mut self, state: State) -> Step {
        self.state = state;
        Step::Taken
    }

    pub(super) const fn emit(&mut self, signal: Signal, state: State) -> Step {
        self.state = state;
        Step::Emit(signal)
    }

    /// An error at the current byte.
    pub(super) const fn fail(&mut self, fault: Fault) -> Step {
        self.fail_at(fault, self.position)
    }

    pub(super) const fn fail_at(&mut self, fault: Fault, at: u32) -> Step {
        self.fault = fault;
        self.fault_at = at;
        Step::Fail
    }

    pub(super) const fn unexpected(&mut self, byte: u8) -> Step {
        self.fail(Fault::UnexpectedByte(byte))
    }

    /// The error for a value of another JSON type, or for a byte that begins no value at all.
    pub(super) const fn wrong_type(&mut self, byte: u8, fault: Fault) -> Step {
        match byte {
            b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => self.fail(fault),
            _ => self.unexpected(byte),
        }
    }
}
