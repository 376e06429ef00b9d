//! The one parser of the project.
//!
//! # For the next maintainer
//!
//! A header is `length, object`; the object maps names to entries, and `__metadata__` to strings. That is JSON with
//! a schema, so the parser is one for JSON ([`State`]: what may come next), which knows where it is ([`Inside`]: the innermost
//! bracket) and what is wanted there ([`Want`]: the schema):
//!
//! ```text
//! Length → Value ┬ `{` → FirstKey ─ string ─ Colon → Value … After ┬ `,` → NextKey … or Value
//!                ├ `[` → FirstItem … After                         └ `}` or `]` → After … Tail
//!                └ string, number or literal → After
//! ```
//!
//! * One byte, one call of one short function: [`HeaderParser::step`] only dispatches. A function looks at the
//!   byte and says what becomes of it ([`Signal`]).
//! * Plain text is taken in runs before that. A run that the end of the input cuts off goes on in the next.
//! * Whitespace is legal in every state from [`State::Value`] on, and handled once, before dispatch.
//! * Nothing is buffered: text leaves in pieces as it comes. Only the first twelve bytes of a string
//!   are kept ([`Word`]), because keys and dtypes must be understood.
//! * Inside the parser positions are `u32`: a header ends at byte 100,000,008 at the latest.
//! * The whole header is proven UTF-8. Inside strings the check runs with the text. Anywhere else a
//!   byte above 0x7F is an error already; which one depends on whether the bytes after it complete
//!   a character, so the error waits in `fault` while [`State::Foreign`] looks at them.
//! * After an error the state is [`State::Failed`] and every call repeats the error.
//! * `shortcut` takes fields of an entry at once that stand whole in the input, `usual` whole entries, or `__metadata__`, in the
//!   one spelling that writers use, `parts` what of an entry the ends of inputs have left. They take nothing of which the machine
//!   would say anything else, and leave the rest to it.
//! * Stacks are small. Inside the crate an event is a [`Signal`] and an error a [`Fault`]; what else
//!   there is to say of them stays where it is until someone asks. The rare long functions are kept
//!   out of line, so that their frames do not lie under every byte.
//!
//! If you add a state: put it above or below [`State::Value`] according to whether whitespace is
//! legal in it, add its line to `step`, and add vectors for what may and may not come in it. If
//! you add something that is wanted: say in `value` what it begins with and in `wrong_type` what else is an error, and, if it
//! is a string, in `end_string` what follows, in [`Want::piece`] whether its text is an event, and in `take_run` whether it may be
//! a word. If you add a field of an entry: tell `shortcut`, `usual` and `parts`, too. If you add a word longer than twelve bytes, lengthen `Word`. If you add an error: give it a line in the table of `error`.

use super::SHORTCUTS;
use super::number::Number;
use super::schema::{Inside, State, Want};
use super::skip::Nesting;
use super::text::{Unicode, Utf8, Utf8Char, Word};
use super::usual::{self, Usual, WORDS};
use crate::dtype::Dtype;
use crate::error::table::Fault;
use crate::error::{Error, ErrorKind, Field};
use crate::header::progress::Progress;
use crate::shape::MAX_RANK;
use crate::tensor::info::Extent;
use crate::util::bytes::low_u32;

/// What becomes of a byte: an event of the parser, in one byte. What an event tells besides stays in the parser until the next
/// call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Signal {
    /// The byte is taken, and there is nothing to tell.
    Taken,
    NeedInput,
    Length,
    Name,
    Tensor,
    Metadata,
    Dtype,
    Shape,
    TensorEnd,
    MetadataNull,
    Key,
    KeyEnd,
    Value,
    ValueEnd,
    MetadataEnd,
    HeaderEnd,
    /// From here on the byte is not taken: it ended what came before it, and is to be looked at again.
    Again,
    Dim,
    Begin,
    End,
    /// The parser's last word is an error, or may be.
    Failed,
}

impl Signal {
    /// Whether a tensor is complete, or the header, or no more can be read.
    pub(crate) const fn ends(self) -> bool {
        matches!(self, Self::TensorEnd | Self::HeaderEnd | Self::NeedInput | Self::Failed)
    }

    /// As a part of a set of signals.
    pub(crate) const fn bit(self) -> u32 {
        1 << self as u8
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

/// An incremental parser of a safetensors header, resumable at every byte.
///
/// Feed it the file from byte 0, in chunks of any size. It checks everything that can be said of a
/// header without arithmetic on shapes and offsets: the length, UTF-8, JSON, and the types of all
/// members. It keeps no text; names of any length and shapes of any rank stream through it.
///
/// *Memory*: at most 128 bytes, no heap, no recursion. The input is not kept.
///
/// ```
/// use embedded_safetensors::header::{Event, HeaderParser};
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
// What is touched most comes first: near the start of a structure instructions are shorter.
#[repr(C)]
pub struct HeaderParser {
    pub(super) state: State,
    pub(super) want: Want,
    pub(super) inside: Inside,
    pub(super) list: Field,
    /// How many numbers of the list are complete; stops counting at 2.
    pub(super) items: u8,
    /// One bit for each member that the entry has so far.
    pub(super) fields: u8,
    pub(super) dtype: Dtype,
    pub(super) skipped_number: Number,
    pub(super) utf8: Utf8,
    pub(super) metadata_seen: bool,
    /// Whether the product of a shape is to be taken.
    pub(super) multiplies: bool,
    /// The parser's last word once the state is [`State::Failed`]; before that, an error may wait here.
    fault: Fault,
    pub(super) position: u32,
    /// Where the header ends; where its length ends until that is known.
    pub(super) end: u32,
    pub(super) token: u32,
    /// Where the fault is.
    pub(super) fault_at: u32,
    /// What is told, as a set of signals.
    pub(super) told: u32,
    /// Where the shape begins.
    pub(super) shape_at: u32,
    /// Where the first offset stands.
    pub(super) begin_at: u32,
    /// The letters of the literal that are to come, the next in the lowest byte.
    pub(super) literal: u32,
    /// The value of the integer being read; of the header's length first.
    pub(super) number: u64,
    /// The product of the shape so far.
    pub(super) elements: u64,
    /// The offsets of the entry, as far as they have come.
    pub(super) begin: u64,
    pub(super) range_end: u64,
    pub(super) word: Word,
    /// The last character that was spelled as an escape.
    pub(super) character: Utf8Char,
    /// Where the last input has ended in what all entries have; 0 anywhere else.
    pub(super) spot: u8,
    pub(super) unicode: Unicode,
    pub(super) nesting: Nesting,
}

/// Where the length of the header ends and the header begins.
const LENGTH_END: u32 = 8;

impl Default for HeaderParser {
    fn default() -> Self {
        Self::new()
    }
}

impl HeaderParser {
    /// What a shape says.
    const DIMS: u32 = Signal::Shape.bit() | Signal::Dim.bit();
    /// What an entry says word by word.
    pub(super) const FIELDS: u32 = Self::DIMS | Signal::Dtype.bit() | Signal::Begin.bit() | Signal::End.bit();
    /// All that is an event.
    pub(super) const ALL: u32 = !(Signal::Taken.bit() | Signal::Again.bit() | Signal::Failed.bit());

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
            spot: 0,
            state,
            inside: Inside::Header,
            want: Want::Header,
            skipped_number: Number::Zero,
            literal: 0,
            dtype: Dtype::BOOL,
            list: Field::Shape,
            items: 0,
            fields: 0,
            metadata_seen: false,
            told: Self::ALL,
            multiplies: false,
            elements: 1,
            shape_at: 0,
            begin: 0,
            range_end: 0,
            begin_at: 0,
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
    #[inline(always)] // a frame less on every stack
    pub(crate) const fn advance<'i>(&mut self, input: &mut &'i [u8], run: &mut &'i [u8]) -> Signal {
        *run = &[];
        loop {
            if WORDS && self.take_parts(input) && self.tells(Signal::TensorEnd) {
                return Signal::TensorEnd;
            }
            if self.may_be_short() {
                let signal = self.take_fields(input);
                if self.tells(signal) {
                    return signal;
                }
            }
            let signal = self.walk(input, run);
            if signal as u8 != Signal::Taken as u8 {
                return signal;
            }
        }
    }

    /// As [`advance`](Self::advance), but stops also where there may be a shortcut: then this is [`Signal::Taken`].
    #[inline(never)]
    const fn walk<'i>(&mut self, input: &mut &'i [u8], run: &mut &'i [u8]) -> Signal {
        let header = self.of_header(input);
        let mut left = header;
        let signal = self.step_on(&mut left, run);
        skip(input, header.len() - left.len());
        signal
    }

    /// As [`walk`](Self::walk), of input that ends with the header if not before.
    #[inline(always)]
    const fn step_on<'i>(&mut self, left: &mut &'i [u8], run: &mut &'i [u8]) -> Signal {
        loop {
            if let State::Text = self.state {
                let text = self.take_run(left);
                match (self.want.piece(), text) {
                    (Some(signal), [_, ..]) if self.tells(signal) => {
                        *run = text;
                        return signal;
                    }
                    _ => {}
                }
            }
            let &[byte, ref rest @ ..] = *left else { return self.end_of_chunk() };
            // No shortcut is looked for behind whitespace: where it comes in lines and columns, none begins there.
            if self.state as u8 >= State::Value as u8 && matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                *left = rest;
                self.position += 1;
                continue;
            }
            let signal = self.step(byte);
            if signal as u8 == Signal::Failed as u8 {
                if byte < 0x80 || !self.may_begin_character() {
                    self.state = State::Failed;
                    return signal;
                }
                self.state = State::Foreign;
            } else if (signal as u8) < Signal::Again as u8 {
                *left = rest;
                self.position += 1;
            }
            if self.tells(signal) {
                return signal;
            }
            if self.may_be_short() || (WORDS && self.is_behind_tensor()) {
                return Signal::Taken;
            }
        }
    }

    /// Takes a byte, but whitespace, of a header in which nothing is wrong.
    pub(super) const fn take_byte(&mut self, left: &mut &[u8]) {
        let [byte, rest @ ..] = *left else { return };
        let mut one: &[u8] = &[*byte];
        if !matches!(self.state, State::Text) || self.take_run(&mut one).is_empty() {
            while self.step(*byte) as u8 >= Signal::Again as u8 {}
            self.position += 1;
        }
        *left = rest;
    }

    pub(super) const fn tells(&self, signal: Signal) -> bool {
        self.told & signal.bit() != 0
    }

    /// Whether nobody listens to what an entry says word by word, but for its shape where that is worth the flash.
    pub(super) const fn tells_at_most_dims(&self) -> bool {
        let fields = if WORDS { Self::FIELDS & !Self::DIMS } else { Self::FIELDS };
        self.told & fields == 0
    }

    /// Whether somebody listens to its shape.
    pub(super) const fn tells_dims(&self) -> bool {
        WORDS && self.told & Self::DIMS != 0
    }

    /// No more input, or no more header.
    const fn end_of_chunk(&mut self) -> Signal {
        if self.position == self.end || self.has_failed() { self.at_end() } else { Signal::NeedInput }
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

    /// What of `input` belongs to the header.
    pub(super) const fn of_header<'i>(&self, input: &'i [u8]) -> &'i [u8] {
        match input.split_at_checked((self.end - self.position) as usize) {
            Some((header, _)) => header,
            None => input,
        }
    }

    /// Whether the header goes on where `input` ends.
    pub(crate) const fn goes_beyond(&self, input: &[u8]) -> bool {
        input.len() < (self.end - self.position) as usize
    }

    /// Takes the next member of the header, if all of it stands in `input` and it is a tensor in the usual
    /// spelling.
    #[inline(always)]
    pub(super) const fn take_usual<'i, const BY_WORDS: bool>(
        &mut self,
        input: &mut &'i [u8],
    ) -> Option<Usual<'i>> {
        if !SHORTCUTS || input.len() < usual::SHORTEST {
            return None;
        }
        let name = match (self.state, self.want, self.of_header(input)) {
            (State::After, _, [b',', b'"', name @ ..]) if matches!(self.inside, Inside::Header) => name,
            (State::Value, Want::Header, [b'{', b'"', name @ ..]) => name,
            _ => return None,
        };
        let Some(entry) = Usual::entry::<BY_WORDS>(name, self.position + 1) else { return None };
        self.end_usual(input, entry.end_at, entry.dtype, entry.place);
        Some(entry)
    }

    const fn end_usual(&mut self, input: &mut &[u8], end_at: u32, dtype: Dtype, place: Extent) {
        skip(input, (end_at - self.position) as usize);
        self.position = end_at;
        self.token = end_at - 1;
        self.state = State::After;
        self.inside = Inside::Header;
        self.dtype = dtype;
        (self.begin, self.range_end, self.begin_at) = (place.begin, place.end, place.begin_at);
    }

    /// Takes the next member of the header, if all of it stands in `input` and it is `__metadata__` in the usual
    /// spelling, for the first time. As good as [`Signal::MetadataEnd`].
    pub(super) const fn take_metadata(&mut self, input: &mut &[u8]) -> bool {
        let header = self.of_header(input);
        let text = match (self.state, self.want, header) {
            (State::Value, Want::Header, [b'{', text @ ..]) => text,
            (State::After, _, [b',', text @ ..]) => text,
            _ => return false,
        };
        if !SHORTCUTS || self.metadata_seen || !matches!(self.inside, Inside::Header) {
            return false;
        }
        let Some(rest) = usual::metadata(text) else { return false };
        let taken = header.len() - rest.len();
        self.position += low_u32(taken as u64);
        self.token = self.position - 1;
        self.metadata_seen = true;
        self.state = State::After;
        skip(input, taken);
        true
    }

    pub(super) const fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed)
    }

    /// Whether all of the header has been seen and nothing was found wrong.
    pub(crate) const fn is_complete(&self) -> bool {
        matches!(self.state, State::Tail) && self.position == self.end
    }

    /// Whether `__metadata__` has come by.
    #[cfg(feature = "std")]
    pub(crate) const fn has_metadata(&self) -> bool {
        self.metadata_seen
    }

    /// What is behind [`Signal::Failed`].
    pub(crate) const fn fault(&self) -> Fault {
        self.fault
    }

    /// The error behind [`Signal::Failed`], as far as the parser knows it.
    pub(crate) const fn error(&self) -> Error {
        let at = self.fault_at as u64;
        let length = if self.position < LENGTH_END { self.number } else { (self.end - LENGTH_END) as u64 };
        let kind = match self.fault {
            Fault::HeaderTooLarge => ErrorKind::HeaderTooLarge { length },
            Fault::HeaderBeyondFile => {
                ErrorKind::HeaderBeyondFile { length, present: at.saturating_sub(LENGTH_END as u64) }
            }
            Fault::Rank => ErrorKind::Rank { limit: MAX_RANK.to_le_bytes()[0] },
            other => other.kind(),
        };
        kind.at(at)
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

    #[inline(always)]
    const fn step(&mut self, byte: u8) -> Signal {
        match self.state {
            State::Failed => Signal::Failed,
            State::Length => self.length(byte),
            State::FirstItem if byte == b']' => self.close(),
            State::FirstItem | State::Value => self.value(byte),
            State::FirstKey if byte == b'}' => self.close(),
            State::FirstKey | State::NextKey => self.key(byte),
            State::Colon => self.colon(byte),
            State::After => self.after(byte),
            State::Tail => self.fail(Fault::Trailing(byte)),
            State::Text => self.string_special(byte),
            State::Escape => self.escape(byte),
            State::UnicodeDigits => self.unicode_digit(byte),
            State::LowBackslash => self.low_surrogate_begins(byte, b'\\', 6, State::LowU),
            State::LowU => self.low_surrogate_begins(byte, b'u', 7, State::UnicodeDigits),
            State::Digits => self.digits(byte),
            State::SkipNumber => self.skip_number(byte),
            State::Literal => self.literal(byte),
            State::Foreign => self.foreign(byte),
        }
    }

    pub(super) const fn go(&mut self, state: State) -> Signal {
        self.emit(Signal::Taken, state)
    }

    pub(super) const fn emit(&mut self, signal: Signal, state: State) -> Signal {
        self.state = state;
        signal
    }

    /// An error at the current byte.
    pub(super) const fn fail(&mut self, fault: Fault) -> Signal {
        self.fail_at(fault, self.position)
    }

    #[inline(never)]
    pub(super) const fn fail_at(&mut self, fault: Fault, at: u32) -> Signal {
        self.fault = fault;
        self.fault_at = at;
        Signal::Failed
    }

    pub(super) const fn unexpected(&mut self, byte: u8) -> Signal {
        self.fail(Fault::UnexpectedByte(byte))
    }
}

/// Moves `input` past so many bytes, of which there are as many.
pub(super) const fn skip(input: &mut &[u8], len: usize) {
    if let Some((_, rest)) = input.split_at_checked(len) {
        *input = rest;
    }
}
