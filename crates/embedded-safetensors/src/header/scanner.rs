//! The scanner: the one machine that reads headers.
//!
//! # For the next maintainer
//!
//! [`HeaderParser::advance`] is the machine. A [`State`] says where it is, and each byte leads to the next
//! state:
//!
//! * Between tokens, and in numbers of unknown fields, it follows the table of [`grammar`](super::grammar).
//! * At the first or last byte of a token, and at brackets of shapes and entries, the `match` acts and names
//!   the next state. When a key ends, the state after its colon is stored in `after_colon`.
//! * Inside a token it loops over text or digits; rare states are taken byte by byte (`take_byte`).
//!
//! With `IN_CONST` it loops over bytes, for const evaluation, where the calls that read words are slow.
//!
//! It may stop after any byte; all that it remembers is in the fields of [`HeaderParser`]. Of text it keeps
//! the last escape and the first twelve bytes of a string that may be `__metadata__`, a key of an entry or a
//! dtype ([`Word`]).
//!
//! It returns a [`Signal`] to a caller that selected it by [`Signals`]. The numbers of the signal are in the
//! parser's fields until the next call. With [`Reading::Tensors`] each tensor is validated: the product of
//! the shape at each dimension, the size at the closing brace.
//!
//! Two shortcuts recognise canonical spelling. They report no errors: all that they do not recognise is left
//! to the machine.
//!
//! * `take_words` reads keys and dtypes that are contiguous in the input, in words of four bytes. It cannot
//!   signal a dtype, so callers that select that signal do without it.
//! * [`take_entry`](HeaderParser::take_entry) reads an entire entry where pointers have 64 bits. Callers try
//!   it before `advance`.
//!
//! In a header that an earlier pass has validated a caller may skip an entry with `skim_entry`: only quotes,
//! backslashes and braces are examined. The caller must know that the header is unchanged, by a fingerprint
//! or because the file is in memory.
//!
//! * Positions are `u32`: a header ends at byte 100,000,008 at the latest. They are computed where one is
//!   needed, as `end - left.len()`.
//! * A header must be UTF-8. In strings the text is validated as it is read. Anywhere else a byte above 0x7F
//!   is always an error: the error of the current state if it begins a valid character, otherwise
//!   [`Fault::Utf8`]. [`State::NonAscii`] continues until that is known.
//! * An error is a [`Fault`] of two bytes and an offset. [`HeaderParser::error`] makes the [`Error`] of them,
//!   with its numbers. For a tensor whose size does not match, it computes the mismatch again to find its
//!   offset.
//!
//! CONTRIBUTING.md says what to change for another member of entries.

#[cfg(test)]
#[path = "proof/mod.rs"]
mod proof;

use super::grammar::{self, State};
use super::nesting::{MAX_DEPTH, Nesting};
use super::number::{digits, more_digits};
use super::signal::{Signal, Signals};
use super::text::{Utf8, Word};
use crate::dtype::Dtype;
use crate::error::table::{Fault, Numbered};
use crate::error::{Error, ErrorKind, Field, MAX_HEADER_LEN};
use crate::shape::{MAX_RANK, Shape};
use crate::tensor::info::{Extent, TensorInfo, inconsistency, is_consistent, is_of_shape};
use crate::util::bytes::low_u32;
use crate::util::escapes::{Unicode, UnicodeStep, Utf8Char, unescape};
use crate::util::text::{after_escapes, after_plain, equal, skip_words};

/// An incremental parser of a safetensors header, resumable at every byte.
///
/// Feed it the file from byte 0, in chunks of any size. It validates the length, UTF-8, JSON, and the types
/// of all members: everything that takes no arithmetic on shapes and offsets. It keeps no text, so names may
/// have any length and shapes any rank.
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
// The fields used most come first: near the start of a structure instructions are shorter.
#[repr(C)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq))]
pub struct HeaderParser {
    pub(super) state: State,
    /// The kind of string, number or literal that is being read.
    token_kind: State,
    /// The state after the colon.
    after_colon: State,
    /// One bit for each field that the entry has so far.
    fields: u8,
    pub(super) dtype: Dtype,
    pub(super) metadata_seen: bool,
    pub(super) reading: Reading,
    /// Where the header ends; where its length ends until that is known.
    pub(super) end: u32,
    /// Where the error is; where the file ends, until there is one.
    fault_at: u32,
    // All fields below but the last are zero at first, and begin at a multiple of 8: one routine clears them.
    pub(super) position: u32,
    /// Where the token begins that is being read, or was reported last.
    pub(super) token: u32,
    /// Where the shape begins.
    shape_at: u32,
    /// Where the first offset is.
    pub(super) begin_at: u32,
    /// The number that is being read, or was read last; at first the header's length. In a literal: its
    /// remaining letters, the next in the lowest byte.
    pub(super) number: u64,
    /// The product of the shape so far.
    elements: u64,
    /// The offsets of the entry, as far as they have been read.
    pub(super) begin: u64,
    pub(super) range_end: u64,
    nesting: Nesting,
    word: Word,
    utf8: Utf8,
    /// The last character that was spelled as an escape.
    pub(super) character: Utf8Char,
    /// How many brackets are open in the value of an unknown field, or braces in an entry that is skimmed:
    /// fewer than 127, because the header is validated.
    depth: u8,
    /// The parser's error once the state is [`State::Failed`]; before that it may hold a pending error.
    fault: Fault,
    unicode: Unicode,
}

const METADATA: &[u8] = b"__metadata__";

/// The purpose of reading the header.
#[derive(Clone, Copy)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) enum Reading {
    /// All of its events.
    Events,
    /// Tensors, each validated by itself.
    Tensors,
    /// The same, without [`HeaderParser::take_entry`]: it changes nothing but the speed.
    #[cfg(test)]
    TensorsByToken,
}

/// Where the length of the header ends and the header begins.
const LENGTH_END: u32 = 8;

impl Default for HeaderParser {
    fn default() -> Self {
        Self::new()
    }
}

impl HeaderParser {
    /// Creates a parser for a new file.
    pub const fn new() -> Self {
        Self::of_file(None, Reading::Events)
    }

    /// As [`new`](Self::new), and validates each tensor by itself: the product of its shape, taken left to
    /// right, the width of its dtype, the length of its range. If the length of the file is known, the header
    /// must end inside it.
    pub(crate) const fn of_tensors(file_len: Option<u64>) -> Self {
        Self::of_file(file_len, Reading::Tensors)
    }

    /// Creates a parser for another pass over the file.
    pub(crate) const fn rewound(&self) -> Self {
        Self::of_file(None, self.reading)
    }

    const fn of_file(file_len: Option<u64>, reading: Reading) -> Self {
        let file_len = match file_len {
            Some(len) if len < u32::MAX as u64 => low_u32(len),
            _ => u32::MAX,
        };
        Self {
            state: if file_len < LENGTH_END { State::Failed } else { State::Length },
            token_kind: State::Header,
            after_colon: State::Header,
            fields: 0,
            dtype: Dtype::BOOL,
            metadata_seen: false,
            reading,
            utf8: Utf8::new(),
            position: 0,
            end: LENGTH_END,
            token: 0,
            shape_at: 0,
            begin_at: 0,
            number: 0,
            elements: 0,
            begin: 0,
            range_end: 0,
            word: Word::new(),
            fault_at: file_len,
            unicode: Unicode::new(),
            nesting: Nesting::new(),
            depth: 0,
            character: Utf8Char::NONE,
            fault: Fault::FileTooShort,
        }
    }

    /// Returns how many bytes of the file have been consumed.
    pub const fn position(&self) -> u64 {
        self.position as u64
    }

    /// Returns where in the file the token of the last event begins: a string's opening quote, a number's
    /// first digit, a bracket; the end of the header for [`HeaderEnd`](super::Event::HeaderEnd). Not
    /// meaningful before the first event, after [`NeedInput`](super::Event::NeedInput) or after an error.
    pub const fn event_start(&self) -> u64 {
        self.token as u64
    }

    /// Returns the length of the header, once its first 8 bytes are consumed.
    pub const fn header_len(&self) -> Option<u64> {
        if self.position < LENGTH_END { None } else { Some((self.end - LENGTH_END) as u64) }
    }

    /// Reads to the next signal in `selected`, and moves `input` past the bytes consumed. `run` is then the
    /// piece of text, or empty for an escape, which is in `character`. The last piece comes with the signal
    /// that ends its string, unless `selected` [separates](Signals::have_separate_ends) them.
    ///
    /// `IN_CONST` is for const evaluation, where a loop over bytes is many times as fast as calls for words.
    #[inline(never)]
    pub(crate) const fn advance<'i, const IN_CONST: bool>(
        &mut self,
        input: &mut &'i [u8],
        run: &mut &'i [u8],
        selected: Signals,
    ) -> Signal {
        *run = &[];
        if let State::Length = self.state {
            let signal = self.read_length(input);
            if selected.has(signal) {
                return signal;
            }
        }
        let header = self.header_part(input);
        let mut left = header;
        let end = self.position + low_u32(header.len() as u64);
        let mut state = self.state;
        // The last byte looked up in the table.
        let mut byte = 0;
        let signal = 'machine: loop {
            if state.is_row() {
                let mut row = state;
                state = loop {
                    let [first, rest @ ..] = left else {
                        state = row;
                        break 'machine Signal::NeedInput;
                    };
                    (byte, left) = (*first, rest);
                    let next = grammar::next(row, byte);
                    if !next.is_row() {
                        break next;
                    }
                    row = next;
                };
            }
            let signal;
            match state {
                State::Field | State::Dtype if !selected.has(Signal::Dtype) => {
                    (state, left) = self.take_words(state, left);
                    if let State::Field | State::Dtype = state {
                        self.begin_string(state, end - low_u32(left.len() as u64) - 1);
                        state = State::Text;
                    }
                    continue;
                }
                State::Name
                | State::Field
                | State::Dtype
                | State::Key
                | State::TextValue
                | State::SkippedKey
                | State::SkippedText => {
                    self.begin_string(state, end - low_u32(left.len() as u64) - 1);
                    state = State::Text;
                    continue;
                }
                State::Text => {
                    let text = left;
                    left = self.after_text::<IN_CONST>(left);
                    let piece = match text.split_at_checked(text.len() - left.len()) {
                        Some((piece, _)) => piece,
                        None => text,
                    };
                    let text_signal = self.piece_signal();
                    if !piece.is_empty() && selected.has(text_signal) {
                        *run = piece;
                        let is_last = matches!(left, [b'"', ..]) && !self.utf8.is_open();
                        if !is_last || selected.have_separate_ends() {
                            self.keep(piece);
                            break text_signal;
                        }
                    }
                    if IN_CONST && !selected.has(Signal::Value) && !self.utf8.is_open() {
                        if let (State::TextValue, [b'\\', ..]) = (self.token_kind, left) {
                            let rest = after_escapes(left);
                            if rest.len() < left.len() {
                                left = rest;
                                continue;
                            }
                        }
                    }
                    match left {
                        [b'"', rest @ ..] if !self.utf8.is_open() => {
                            left = rest;
                            (state, signal) = self.end_string(piece);
                            if let (State::AfterKey, [b':', rest @ ..], false) =
                                (state, left, selected.has(signal))
                            {
                                (state, left) = (self.after_colon, rest);
                                continue;
                            }
                        }
                        [b'\\', rest @ ..] if !self.utf8.is_open() => {
                            self.keep(piece);
                            left = rest;
                            state = State::Escape;
                            continue;
                        }
                        [] => {
                            self.keep(piece);
                            break Signal::NeedInput;
                        }
                        [special, ..] => {
                            state = self.fail_in_text(*special, end - low_u32(left.len() as u64));
                            continue;
                        }
                    }
                }
                State::Dim | State::Begin | State::End | State::Digits => {
                    if let State::Digits = state {
                        // No digit may follow a leading zero.
                        if self.number > 0 {
                            (self.number, left) = more_digits(self.number, left);
                        }
                    } else {
                        self.token_kind = state;
                        self.token = end - low_u32(left.len() as u64) - 1;
                        let mut number = (byte & 0x0F) as u64;
                        if number > 0 {
                            (number, left) = digits::<IN_CONST>(number, left);
                        }
                        self.number = number;
                    }
                    match left {
                        [] => {
                            state = State::Digits;
                            break Signal::NeedInput;
                        }
                        [byte @ (b'0'..=b'9' | b'.' | b'e' | b'E'), ..] => {
                            state = self.fail_in_integer(*byte, end - low_u32(left.len() as u64));
                            continue;
                        }
                        _ => (state, signal) = self.end_number(),
                    }
                }
                State::Colon => {
                    state = self.after_colon;
                    continue;
                }
                State::OpenShape => {
                    self.token = end - low_u32(left.len() as u64) - 1;
                    self.shape_at = self.token;
                    self.elements = 1;
                    (state, signal) = (State::FirstDim, Signal::Shape);
                }
                State::CloseEntry => {
                    self.token = end - low_u32(left.len() as u64) - 1;
                    (state, signal) = self.end_entry();
                }
                State::Failed => break Signal::Failed,
                State::CloseMetadata => {
                    self.token = end - low_u32(left.len() as u64) - 1;
                    (state, signal) = (State::AfterMember, Signal::MetadataEnd);
                }
                State::Null | State::Literal | State::OpenObject | State::OpenArray | State::CloseSkipped => {
                    state = self.begin_rare(state, byte, end - low_u32(left.len() as u64) - 1);
                    continue;
                }
                State::EndNumber => {
                    state = grammar::next(self.after_skipped(), byte);
                    continue;
                }
                State::Skim | State::SkimText | State::SkimEscape => {
                    (state, left) = self.skim(state, left);
                    if left.is_empty() {
                        break Signal::NeedInput;
                    }
                    continue;
                }
                bad if bad.is_bad() => {
                    let at = end - low_u32(left.len() as u64) - 1;
                    state = self.fail_at_byte(grammar::fault(bad, byte), at, byte, at);
                    continue;
                }
                _ => {
                    let [next, rest @ ..] = left else { break Signal::NeedInput };
                    let at = end - low_u32(left.len() as u64);
                    (state, signal) = self.take_byte(state, *next, at);
                    left = rest;
                }
            }
            if selected.has(signal) {
                break signal;
            }
        };
        self.state = state;
        self.position = end - low_u32(left.len() as u64);
        *input = skip(input, header.len() - left.len());
        if matches!(signal, Signal::NeedInput) && self.position == self.end { self.at_end() } else { signal }
    }

    /// Reads the 8 bytes of the header's length, little-endian; at most 100,000,000 inclusive.
    #[inline(never)]
    pub(super) const fn read_length(&mut self, input: &mut &[u8]) -> Signal {
        while let [byte, rest @ ..] = *input {
            self.number = (self.number >> 8) | ((*byte as u64) << 56);
            self.position += 1;
            *input = rest;
            if self.position == LENGTH_END {
                self.state = State::Header;
                if self.number > MAX_HEADER_LEN {
                    return self.stop(Fault::Numbered(Numbered::HeaderTooLarge), 0);
                }
                self.end = low_u32(self.number) + LENGTH_END;
                if self.end > self.fault_at {
                    return self.stop(Fault::Numbered(Numbered::HeaderBeyondFile), self.fault_at);
                }
                return Signal::Length;
            }
        }
        Signal::NeedInput
    }

    const fn begin_string(&mut self, kind: State, at: u32) {
        self.token_kind = kind;
        self.token = at;
        self.word.clear();
    }

    /// Returns the bytes after the text at the start. The text may end inside a character.
    #[inline(always)]
    const fn after_text<'i, const IN_CONST: bool>(&mut self, text: &'i [u8]) -> &'i [u8] {
        let plain = if self.utf8.is_open() { text } else { after_plain::<IN_CONST>(text) };
        if let [0x80..=0xFF, ..] = plain { self.after_characters::<IN_CONST>(plain) } else { plain }
    }

    /// As [`after_text`](Self::after_text), where a byte above 0x7F may be the first.
    #[inline(never)]
    const fn after_characters<'i, const IN_CONST: bool>(&mut self, text: &'i [u8]) -> &'i [u8] {
        let mut left = text;
        while let [byte @ 0x80..=0xFF, rest @ ..] = left {
            if !self.utf8.push(*byte) {
                break;
            }
            left = if self.utf8.is_open() { rest } else { after_plain::<IN_CONST>(rest) };
        }
        left
    }

    /// Fails at a byte that is not allowed in a string.
    #[cold]
    #[inline(never)]
    const fn fail_in_text(&mut self, byte: u8, at: u32) -> State {
        if self.utf8.is_open() || byte >= 0x80 {
            self.fail(Fault::Utf8, at - self.utf8.seen())
        } else {
            self.fail(Fault::ControlCharacter(byte), at)
        }
    }

    /// Returns the signal for a piece of the string.
    #[inline(always)]
    const fn piece_signal(&self) -> Signal {
        match self.token_kind {
            State::Name => Signal::Name,
            State::Key => Signal::Key,
            State::TextValue => Signal::Value,
            _ => Signal::Nothing,
        }
    }

    /// Keeps a piece of a string that may be a [`Word`].
    #[inline(never)]
    const fn keep(&mut self, piece: &[u8]) {
        match (self.token_kind, piece) {
            (State::Name, [first, ..]) if *first != b'_' && self.word.is_empty() => self.word.rule_out(),
            (State::Name | State::Field | State::Dtype, _) => self.word.push(piece),
            _ => {}
        }
    }

    /// Ends the string, whose last piece this was.
    #[inline]
    const fn end_string(&mut self, piece: &[u8]) -> (State, Signal) {
        // Nearly all names are no word, and are not copied.
        let is_plain_name =
            matches!(self.token_kind, State::Name) && !matches!(piece, [b'_', ..]) && self.word.is_empty();
        if !is_plain_name {
            self.keep(piece);
        }
        match self.token_kind {
            State::Name if is_plain_name || !equal(self.word.as_bytes(), METADATA) => {
                self.fields = 0;
                self.after_colon = State::Entry;
                (State::AfterKey, Signal::Tensor)
            }
            // A duplicate is an error even if both are `null`.
            State::Name if self.metadata_seen => {
                (self.fail(Fault::DuplicateMetadata, self.token), Signal::Nothing)
            }
            State::Name => {
                self.metadata_seen = true;
                self.after_colon = State::MetadataValue;
                (State::AfterKey, Signal::Metadata)
            }
            State::Field => (self.end_field(), Signal::Nothing),
            State::Dtype => self.end_dtype(),
            State::Key => {
                self.after_colon = State::MetadataText;
                (State::AfterKey, Signal::KeyEnd)
            }
            State::TextValue => (State::AfterText, Signal::ValueEnd),
            State::SkippedKey => {
                self.after_colon = State::SkippedValue;
                (State::AfterKey, Signal::Nothing)
            }
            _ => (self.after_skipped(), Signal::Nothing),
        }
    }

    #[inline(never)]
    const fn end_field(&mut self) -> State {
        match field(self.word.as_bytes()) {
            None => self.after_colon = State::SkippedValue,
            Some((field, _)) if self.fields & field.bit() != 0 => {
                return self.fail(Fault::DuplicateMember(field), self.token);
            }
            Some((field, value)) => {
                self.fields |= field.bit();
                self.after_colon = value;
            }
        }
        State::AfterKey
    }

    const fn end_dtype(&mut self) -> (State, Signal) {
        self.keep(b"\"");
        match self.word.dtype() {
            Some(dtype) => {
                self.dtype = dtype;
                (State::AfterField, Signal::Dtype)
            }
            None => (self.fail(Fault::DtypeUnknown, self.token), Signal::Nothing),
        }
    }

    /// Takes keys of an entry with their colons, and dtypes, while they are contiguous at the start and
    /// canonical. `state` says which of them begins after the last quote that was taken. All that this does
    /// not recognise is left to the general code.
    #[inline(always)]
    const fn take_words<'i>(&mut self, state: State, left: &'i [u8]) -> (State, &'i [u8]) {
        const DTYP: u32 = u32::from_le_bytes(*b"dtyp");
        const SHAP: u32 = u32::from_le_bytes(*b"shap");
        const DATA: u32 = u32::from_le_bytes(*b"data");
        const OFF: u32 = u32::from_le_bytes(*b"_off");
        const SETS: u32 = u32::from_le_bytes(*b"sets");
        /// The end of two keys, above a byte that is not compared.
        const E: u32 = u32::from_le_bytes(*b"\0e\":");
        let (mut state, mut left) = (state, left);
        loop {
            if let State::Dtype = state {
                let Some((dtype, len)) = Dtype::quoted(left) else { return (state, left) };
                self.dtype = dtype;
                let rest = skip(left, len as usize);
                let [b',', b'"', key @ ..] = rest else { return (State::AfterField, rest) };
                (state, left) = (State::Field, key);
            }
            let Some((words, rest)) = left.split_first_chunk() else { return (state, left) };
            let words = u64::from_le_bytes(*words);
            let (first, second) = (low_u32(words & u32::MAX as u64), low_u32(words >> 32));
            let (field, value) = match (first, rest) {
                (DTYP, _) if second << 8 == E => (Field::Dtype, skip(left, 7)),
                (SHAP, _) if second << 8 == E => (Field::Shape, skip(left, 7)),
                (DATA, [e, f, g, h, b'"', b':', value @ ..])
                    if second == OFF && u32::from_le_bytes([*e, *f, *g, *h]) == SETS =>
                {
                    (Field::Offsets, value)
                }
                _ => return (state, left),
            };
            if self.fields & field.bit() != 0 {
                return (state, left);
            }
            self.fields |= field.bit();
            match (field, value) {
                (Field::Dtype, [b'"', dtype @ ..]) => (state, left) = (State::Dtype, dtype),
                (Field::Shape, [b'[', dims @ ..]) => return (State::OpenShape, dims),
                (Field::Offsets, [b'[', offsets @ ..]) => return (State::FirstOffset, offsets),
                _ => return (grammar::before_value(field), value),
            }
        }
    }

    /// Fails at a number that is not an integer, has a leading zero, or exceeds 64 bits.
    #[cold]
    #[inline(never)]
    const fn fail_in_integer(&mut self, byte: u8, at: u32) -> State {
        let of_shape = matches!(self.token_kind, State::Dim);
        match byte {
            b'0'..=b'9' if self.number == 0 => self.fail(Fault::Number, at),
            b'0'..=b'9' => {
                self.fail(if of_shape { Fault::ShapeRange } else { Fault::OffsetsRange }, self.token)
            }
            _ => self.fail(if of_shape { Fault::ShapeInteger } else { Fault::OffsetsInteger }, at),
        }
    }

    #[inline(always)]
    const fn end_number(&mut self) -> (State, Signal) {
        match self.token_kind {
            State::Dim => {
                if !matches!(self.reading, Reading::Events) {
                    match product(self.elements, self.number) {
                        Some(elements) => self.elements = elements,
                        None => return (self.fail(Fault::Overflow, self.token), Signal::Nothing),
                    }
                }
                (State::AfterDim, Signal::Dim)
            }
            State::Begin => {
                self.begin = self.number;
                self.begin_at = self.token;
                (State::AfterFirstOffset, Signal::Begin)
            }
            _ => {
                self.range_end = self.number;
                (State::AfterSecondOffset, Signal::End)
            }
        }
    }

    #[inline(never)]
    const fn end_entry(&mut self) -> (State, Signal) {
        if self.fields & Field::REQUIRED != Field::REQUIRED {
            return (self.fail(Fault::Missing(Field::missing(self.fields)), self.token), Signal::Nothing);
        }
        if !matches!(self.reading, Reading::Events)
            && !is_consistent(self.dtype, self.elements, self.begin, self.range_end)
        {
            return (self.fail(Fault::Numbered(Numbered::Mismatch), self.token), Signal::Nothing);
        }
        (State::AfterMember, Signal::TensorEnd)
    }

    /// Begins a literal; opens or closes a bracket in the value of an unknown field.
    #[inline(never)]
    const fn begin_rare(&mut self, state: State, byte: u8, at: u32) -> State {
        match state {
            State::Null if byte != b'n' => self.fail(Fault::MetadataType, at),
            State::Null | State::Literal => {
                (self.token_kind, self.token) = (state, at);
                self.number = u32::from_le_bytes(match byte {
                    b't' => *b"rue\0",
                    b'f' => *b"alse",
                    _ => *b"ull\0",
                }) as u64;
                State::LiteralLetters
            }
            State::CloseSkipped => {
                self.depth = self.depth.wrapping_sub(1); // cannot wrap: it was opened
                self.after_skipped()
            }
            _ => {
                let is_object = matches!(state, State::OpenObject);
                if self.depth == MAX_DEPTH {
                    return self.fail(Fault::Depth, at);
                }
                self.depth += 1;
                self.nesting.open(self.depth, is_object);
                if is_object { State::FirstSkippedKey } else { State::FirstItem }
            }
        }
    }

    #[inline(never)]
    const fn after_skipped(&self) -> State {
        if self.depth == 0 {
            State::AfterField
        } else if self.nesting.is_object(self.depth) {
            State::AfterSkippedMember
        } else {
            State::AfterItem
        }
    }

    /// Takes a byte in one of the rare states: escapes, literals, and [`State::NonAscii`].
    #[inline(never)]
    const fn take_byte(&mut self, state: State, byte: u8, at: u32) -> (State, Signal) {
        let (fault, back) = match state {
            State::Escape if byte == b'u' => {
                self.unicode = Unicode::new();
                return (State::UnicodeDigits, Signal::Nothing);
            }
            State::Escape => match unescape(byte) {
                Some(meaning) => return self.escaped(meaning as u32),
                None => (Fault::Escape(byte), 0),
            },
            State::UnicodeDigits => match self.unicode.push(byte) {
                UnicodeStep::NeedDigit => return (State::UnicodeDigits, Signal::Nothing),
                UnicodeStep::NeedLow => return (State::LowBackslash, Signal::Nothing),
                UnicodeStep::Done(code) => return self.escaped(code),
                UnicodeStep::Lone(back) => (Fault::Surrogate, back),
                UnicodeStep::BadDigit => (Fault::Escape(byte), 0),
            },
            State::LowBackslash if byte == b'\\' => return (State::LowU, Signal::Nothing),
            State::LowU if byte == b'u' => return (State::UnicodeDigits, Signal::Nothing),
            State::LowBackslash => (Fault::Surrogate, 6),
            State::LowU => (Fault::Surrogate, 7),
            State::LiteralLetters if low_u32(self.number) & 0xFF == byte as u32 => {
                self.number = (low_u32(self.number) >> 8) as u64;
                return match (self.number, self.token_kind) {
                    (0, State::Null) => (State::AfterMember, Signal::MetadataNull),
                    (0, _) => (self.after_skipped(), Signal::Nothing),
                    _ => (State::LiteralLetters, Signal::Nothing),
                };
            }
            State::LiteralLetters => (Fault::UnexpectedByte(byte), 0),
            _ => return (self.take_non_ascii(byte, at), Signal::Nothing),
        };
        (self.fail_at_byte(fault, at - back, byte, at), Signal::Nothing)
    }

    #[inline(never)]
    const fn escaped(&mut self, code: u32) -> (State, Signal) {
        let character = Utf8Char::new(code);
        self.character = character;
        self.keep(character.as_bytes());
        (State::Text, self.piece_signal())
    }

    /// Skips the entry of the name that was reported last. Only in a validated header: only quotes,
    /// backslashes and braces are examined.
    pub(crate) const fn skim_entry(&mut self) {
        self.after_colon = State::Skim;
    }

    /// Skims the entry, a word at a time where no brace and no backslash is among its bytes.
    #[inline(never)]
    const fn skim<'i>(&mut self, state: State, left: &'i [u8]) -> (State, &'i [u8]) {
        let (mut state, mut left) = (state, left);
        loop {
            if !matches!(state, State::SkimEscape) {
                let (rest, odd_quotes) = skip_words(left);
                left = rest;
                if odd_quotes {
                    state = if let State::Skim = state { State::SkimText } else { State::Skim };
                }
            }
            loop {
                let [byte, rest @ ..] = left else { return (state, left) };
                left = rest;
                let mut is_special = *byte >= b'{';
                state = match (state, *byte) {
                    (State::SkimEscape, _) => State::SkimText,
                    (State::SkimText, b'\\') => {
                        is_special = true;
                        State::SkimEscape
                    }
                    (State::SkimText, b'"') => State::Skim,
                    (State::SkimText, _) => State::SkimText,
                    (_, b'"') => State::SkimText,
                    (_, b'{') => {
                        self.depth = self.depth.wrapping_add(1);
                        State::Skim
                    }
                    (_, b'}') => {
                        self.depth = self.depth.wrapping_sub(1);
                        if self.depth == 0 {
                            return (State::AfterMember, left);
                        }
                        State::Skim
                    }
                    _ => State::Skim,
                };
                if is_special {
                    break;
                }
            }
        }
    }

    /// Keeps an error at a byte that may begin a character. If it begins no valid character, the header is
    /// not UTF-8, and that is the error, as in the reference.
    #[cold]
    #[inline(never)]
    const fn fail_at_byte(&mut self, fault: Fault, at: u32, byte: u8, byte_at: u32) -> State {
        self.fail(fault, at);
        if byte < 0x80 { State::Failed } else { self.take_non_ascii(byte, byte_at) }
    }

    #[inline(always)]
    const fn take_non_ascii(&mut self, byte: u8, at: u32) -> State {
        if !self.utf8.push(byte) {
            return self.fail(Fault::Utf8, at - self.utf8.seen());
        }
        if self.utf8.is_open() { State::NonAscii } else { State::Failed }
    }

    #[cold]
    #[inline(never)]
    const fn fail(&mut self, fault: Fault, at: u32) -> State {
        self.fault = fault;
        self.fault_at = at;
        State::Failed
    }

    /// Fails with this error.
    pub(crate) const fn stop(&mut self, fault: Fault, at: u32) -> Signal {
        self.state = self.fail(fault, at);
        Signal::Failed
    }

    /// As [`stop`](Self::stop), at the last token.
    pub(crate) const fn stop_here(&mut self, fault: Fault) -> Signal {
        self.stop(fault, self.token)
    }

    /// Returns the part of `input` that belongs to the header.
    pub(super) const fn header_part<'i>(&self, input: &'i [u8]) -> &'i [u8] {
        match input.split_at_checked((self.end - self.position) as usize) {
            Some((header, _)) => header,
            None => input,
        }
    }

    #[inline(never)]
    pub(super) const fn at_end(&mut self) -> Signal {
        match self.state {
            State::Failed => Signal::Failed,
            State::Tail => {
                self.token = self.position;
                Signal::HeaderEnd
            }
            _ if self.utf8.is_open() => self.stop(Fault::Utf8, self.position - self.utf8.seen()),
            _ => self.stop(Fault::UnexpectedEnd, self.position),
        }
    }

    /// Ends the pass: the file has no more bytes. In a later pass an incomplete header has changed.
    pub(crate) const fn end_pass(&mut self, is_first: bool) -> Signal {
        let fault = match self.header_len() {
            _ if matches!(self.state, State::Failed) => return Signal::Failed,
            _ if self.position == self.end => return self.at_end(),
            _ if !is_first => Fault::Changed,
            None => Fault::FileTooShort,
            Some(_) => Fault::Numbered(Numbered::HeaderBeyondFile),
        };
        self.stop(fault, self.position)
    }

    /// Whether the entire header has been read without an error.
    pub(crate) const fn is_complete(&self) -> bool {
        matches!(self.state, State::Tail) && self.position == self.end
    }

    /// Whether `__metadata__` has been read.
    #[cfg(feature = "std")]
    pub(crate) const fn has_metadata(&self) -> bool {
        self.metadata_seen
    }

    /// Returns the fault of [`Signal::Failed`].
    pub(crate) const fn fault(&self) -> Fault {
        self.fault
    }

    /// Returns the error of [`Signal::Failed`], as far as the parser knows it.
    pub(crate) const fn error(&self) -> Error {
        let mut at = self.fault_at;
        let kind = match self.fault.kind() {
            Ok(kind) => kind,
            Err(Numbered::HeaderTooLarge) => ErrorKind::HeaderTooLarge { length: self.number },
            Err(Numbered::HeaderBeyondFile) => {
                let (length, present) = (self.end - LENGTH_END, at - LENGTH_END);
                ErrorKind::HeaderBeyondFile { length: length as u64, present: present as u64 }
            }
            Err(Numbered::Rank) => ErrorKind::Rank { limit: MAX_RANK.to_le_bytes()[0] },
            Err(Numbered::Mismatch) => {
                let kind = inconsistency(self.dtype, self.elements, self.begin, self.range_end);
                at = if is_of_shape(kind) { self.shape_at } else { self.begin_at };
                kind
            }
            Err(Numbered::Other) => {
                debug_assert!(false, "the code that stopped the parser knows this fault");
                ErrorKind::Changed
            }
        };
        kind.at(at as u64)
    }

    /// Returns the dtype of the complete tensor.
    pub(crate) const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Returns the dimension that was reported last.
    pub(crate) const fn dim(&self) -> u64 {
        self.number
    }

    /// Returns the extent of the complete tensor.
    pub(crate) const fn extent(&self) -> Extent {
        let Self { begin, range_end: end, begin_at, .. } = *self;
        Extent { begin, end, begin_at }
    }

    /// Sets the dtype and the extent of a complete tensor.
    pub(super) const fn set_extent(&mut self, dtype: Dtype, extent: &Extent) {
        self.dtype = dtype;
        (self.begin, self.range_end, self.begin_at) = (extent.begin, extent.end, extent.begin_at);
    }

    /// Returns the complete tensor, with the shape that its dimensions form.
    pub(crate) const fn info(&self, shape: Shape) -> TensorInfo {
        TensorInfo::checked(self.dtype, shape, self.extent())
    }
}

/// Returns the field with this name, and the state before its value.
const fn field(name: &[u8]) -> Option<(Field, State)> {
    let mut left = Field::ALL;
    while let [field, rest @ ..] = left {
        if equal(name, field.name().as_bytes()) {
            return Some((*field, grammar::before_value(*field)));
        }
        left = rest;
    }
    None
}

/// Returns the product, if it fits into 64 bits. If both factors are short, no library routine is called.
#[inline]
const fn product(a: u64, b: u64) -> Option<u64> {
    if (a | b) >> 32 == 0 {
        return Some(low_u32(a) as u64 * low_u32(b) as u64);
    }
    a.checked_mul(b)
}

/// Returns the bytes after the first `len`.
pub(super) const fn skip(text: &[u8], len: usize) -> &[u8] {
    match text.split_at_checked(len) {
        Some((_, rest)) => rest,
        None => &[],
    }
}
