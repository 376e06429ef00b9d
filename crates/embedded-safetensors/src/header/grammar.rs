//! The grammar of a header: what may come next, and what becomes of it.
//!
//! A header is a JSON object that maps names to entries, and `__metadata__` to an object of strings or to
//! null. Its grammar is a table: a row for each [`State`] between two tokens or in a number of an unknown
//! field, a column for each [`Class`] of bytes. A cell of the table is the state that a byte leads to. The
//! other states are not rows:
//!
//! * states inside a token, in the header's length, or in an entry that is skimmed: the scanner has code of
//!   its own;
//! * [`State::Failed`], which no byte leaves;
//! * states in which it acts, at the first byte of a token or at a bracket: they are over before the next
//!   byte;
//! * [`State::Bad`] and those after it: no rule allows the byte.
//!
//! Their order matters: rows come first, and bad states come last.
//!
//! The schema is part of the grammar. Where a dtype is expected, for instance, there is a row that takes a
//! quote and nothing else, so a number there is an error at once.

use crate::error::Field;
use crate::error::table::Fault;

/// The class of a byte between two tokens.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Class {
    Other,
    Space,
    OpenObject,
    CloseObject,
    OpenArray,
    CloseArray,
    Colon,
    Comma,
    Minus,
    Plus,
    Point,
    Zero,
    /// Any but a zero.
    Digit,
    /// The letter before an exponent.
    Exponent,
    /// The first letter of a literal.
    Letter,
    Quote,
}

impl Class {
    const fn of(byte: u8) -> Self {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => Self::Space,
            b'{' => Self::OpenObject,
            b'}' => Self::CloseObject,
            b'[' => Self::OpenArray,
            b']' => Self::CloseArray,
            b':' => Self::Colon,
            b',' => Self::Comma,
            b'-' => Self::Minus,
            b'+' => Self::Plus,
            b'.' => Self::Point,
            b'0' => Self::Zero,
            b'1'..=b'9' => Self::Digit,
            b'e' | b'E' => Self::Exponent,
            b't' | b'f' | b'n' => Self::Letter,
            b'"' => Self::Quote,
            _ => Self::Other,
        }
    }
}

/// The scanner's state, or the action that a byte triggers.
#[derive(Clone, Copy)]
#[cfg_attr(test, derive(PartialEq, Eq))]
#[repr(u8)]
pub(super) enum State {
    // Between two tokens. Each is a row of the table, and white space leaves it unchanged.
    /// Before the header's object.
    Header,
    FirstName,
    NextName,
    /// After an entry or `__metadata__`.
    AfterMember,

    /// Before an entry.
    Entry,
    FirstField,
    NextField,
    AfterField,

    // In the order of [`Field`]: `before_value` is one addition then.
    DtypeValue,
    ShapeValue,
    OffsetsValue,

    FirstDim,
    NextDim,
    AfterDim,

    FirstOffset,
    AfterFirstOffset,
    SecondOffset,
    AfterSecondOffset,

    MetadataValue,
    FirstKey,
    NextKey,
    MetadataText,
    AfterText,

    /// Before or inside the value of an unknown field.
    SkippedValue,
    FirstItem,
    FirstSkippedKey,
    NextSkippedKey,
    AfterItem,
    AfterSkippedMember,

    /// After a key. The state after the colon is known by then.
    AfterKey,
    /// After the header's object.
    Tail,

    // In a number of an unknown field. Any byte that cannot continue the number ends it.
    /// After the sign.
    Minus,
    /// After a leading zero, which no digit may follow.
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    Power,

    // Inside a token, or in an entry that is skimmed.
    Text,
    Escape,
    UnicodeDigits,
    /// After the first half of a surrogate pair, where a backslash must follow.
    LowBackslash,
    /// After that backslash, where a `u` must follow.
    LowU,
    Digits,
    LiteralLetters,
    /// In a character outside ASCII where none is allowed. If it is not valid UTF-8, that is the error.
    NonAscii,
    /// In an entry that is skimmed, between its strings.
    Skim,
    SkimText,
    SkimEscape,

    /// Before the header, in its length.
    Length,
    Failed,

    // A token or a bracket that a byte begins or ends. The scanner acts and continues in another state.
    Name,
    Field,
    Dtype,
    Key,
    TextValue,
    SkippedKey,
    SkippedText,
    Dim,
    Begin,
    End,
    Colon,
    OpenShape,
    CloseEntry,
    CloseMetadata,
    Null,
    Literal,
    /// The byte is the first one after a number.
    EndNumber,
    OpenObject,
    OpenArray,
    CloseSkipped,

    // No rule allows the byte. [`fault`] gives the error.
    Bad,
    BadTail,
    BadNumber,
    BadHeader,
    BadEntry,
    ArrayForEntry,
    BadDtype,
    ObjectForDtype,
    BadShape,
    BadDim,
    BadOffsets,
    BadOffset,
    BadCount,
    BadMetadata,
    BadText,
}

impl State {
    /// Whether it is a row of the table.
    #[inline(always)]
    pub(super) const fn is_row(self) -> bool {
        (self as usize) < ROWS
    }

    /// Whether it means that no rule allows the byte.
    #[inline(always)]
    pub(super) const fn is_bad(self) -> bool {
        self as usize >= Self::Bad as usize
    }
}

const ROWS: usize = State::Power as usize + 1;
const COLUMNS: usize = 16;

type Table = [[State; COLUMNS]; ROWS];

/// Adds a row between tokens: white space stays in the row, `rules` lead to other states. All other cells are
/// unchanged.
const fn row(table: Table, row: State, rules: &[(Class, State)]) -> Table {
    with(with(table, row, &[(Class::Space, row)]), row, rules)
}

/// Adds a row before a value: as [`row`], but a value of another type leads to `bad`.
const fn value(table: Table, before: State, bad: State, rules: &[(Class, State)]) -> Table {
    use Class::{Digit, Letter, Minus, OpenArray, OpenObject, Quote, Zero};
    let others = [
        (OpenObject, bad),
        (OpenArray, bad),
        (Quote, bad),
        (Minus, bad),
        (Zero, bad),
        (Digit, bad),
        (Letter, bad),
    ];
    with(row(table, before, &others), before, rules)
}

/// Adds rules to a row.
const fn with(mut table: Table, row: State, rules: &[(Class, State)]) -> Table {
    let mut left = rules;
    while let [(class, next), rest @ ..] = left {
        table[row as usize][*class as usize] = *next;
        left = rest;
    }
    table
}

/// Returns the rules for any digit.
const fn digit(next: State) -> [(Class, State); 2] {
    [(Class::Zero, next), (Class::Digit, next)]
}

/// Adds a row inside a number: every byte that is not in `rules` leads to `other`.
const fn number(mut table: Table, row: State, other: State, rules: &[(Class, State)]) -> Table {
    table[row as usize] = [other; COLUMNS];
    with(table, row, rules)
}

const TABLE: &Table = &GRAMMAR;

const GRAMMAR: Table = {
    use Class::*;
    use State as S;
    let mut t = [[S::Bad; COLUMNS]; ROWS];

    t = value(t, S::Header, S::BadHeader, &[(OpenObject, S::FirstName)]);
    t = row(t, S::FirstName, &[(Quote, S::Name), (CloseObject, S::Tail)]);
    t = row(t, S::NextName, &[(Quote, S::Name)]);
    t = row(t, S::AfterMember, &[(Comma, S::NextName), (CloseObject, S::Tail)]);

    t = value(t, S::Entry, S::BadEntry, &[(OpenObject, S::FirstField), (OpenArray, S::ArrayForEntry)]);
    t = row(t, S::FirstField, &[(Quote, S::Field), (CloseObject, S::CloseEntry)]);
    t = row(t, S::NextField, &[(Quote, S::Field)]);
    t = row(t, S::AfterField, &[(Comma, S::NextField), (CloseObject, S::CloseEntry)]);

    t = value(t, S::DtypeValue, S::BadDtype, &[(Quote, S::Dtype), (OpenObject, S::ObjectForDtype)]);

    t = value(t, S::ShapeValue, S::BadShape, &[(OpenArray, S::OpenShape)]);
    t = value(t, S::FirstDim, S::BadDim, &digit(S::Dim));
    t = with(t, S::FirstDim, &[(CloseArray, S::AfterField)]);
    t = value(t, S::NextDim, S::BadDim, &digit(S::Dim));
    t = row(t, S::AfterDim, &[(Comma, S::NextDim), (CloseArray, S::AfterField)]);

    t = value(t, S::OffsetsValue, S::BadOffsets, &[(OpenArray, S::FirstOffset)]);
    t = value(t, S::FirstOffset, S::BadOffset, &digit(S::Begin));
    t = with(t, S::FirstOffset, &[(CloseArray, S::BadCount)]);
    t = row(t, S::AfterFirstOffset, &[(Comma, S::SecondOffset), (CloseArray, S::BadCount)]);
    t = value(t, S::SecondOffset, S::BadOffset, &digit(S::End));
    t = row(t, S::AfterSecondOffset, &[(CloseArray, S::AfterField), (Comma, S::BadCount)]);

    t = value(t, S::MetadataValue, S::BadMetadata, &[(OpenObject, S::FirstKey), (Letter, S::Null)]);
    t = row(t, S::FirstKey, &[(Quote, S::Key), (CloseObject, S::CloseMetadata)]);
    t = row(t, S::NextKey, &[(Quote, S::Key)]);
    t = value(t, S::MetadataText, S::BadText, &[(Quote, S::TextValue)]);
    t = row(t, S::AfterText, &[(Comma, S::NextKey), (CloseObject, S::CloseMetadata)]);

    const ANY: &[(Class, State)] = &[
        (Quote, S::SkippedText),
        (OpenObject, S::OpenObject),
        (OpenArray, S::OpenArray),
        (Minus, S::Minus),
        (Zero, S::Zero),
        (Digit, S::Integer),
        (Letter, S::Literal),
    ];
    t = row(t, S::SkippedValue, ANY);
    t = with(row(t, S::FirstItem, ANY), S::FirstItem, &[(CloseArray, S::CloseSkipped)]);
    t = row(t, S::FirstSkippedKey, &[(Quote, S::SkippedKey), (CloseObject, S::CloseSkipped)]);
    t = row(t, S::NextSkippedKey, &[(Quote, S::SkippedKey)]);
    t = row(t, S::AfterItem, &[(Comma, S::SkippedValue), (CloseArray, S::CloseSkipped)]);
    t = row(t, S::AfterSkippedMember, &[(Comma, S::NextSkippedKey), (CloseObject, S::CloseSkipped)]);

    const POINT: (Class, State) = (Point, S::Point);
    const EXPONENT: (Class, State) = (Exponent, S::Exponent);
    t = number(t, S::Minus, S::BadNumber, &[(Zero, S::Zero), (Digit, S::Integer)]);
    t = number(t, S::Zero, S::EndNumber, &digit(S::BadNumber));
    t = with(t, S::Zero, &[POINT, EXPONENT]);
    t = number(t, S::Integer, S::EndNumber, &digit(S::Integer));
    t = with(t, S::Integer, &[POINT, EXPONENT]);
    t = number(t, S::Point, S::BadNumber, &digit(S::Fraction));
    t = number(t, S::Fraction, S::EndNumber, &digit(S::Fraction));
    t = with(t, S::Fraction, &[EXPONENT]);
    t = number(t, S::Exponent, S::BadNumber, &digit(S::Power));
    t = with(t, S::Exponent, &[(Minus, S::ExponentSign), (Plus, S::ExponentSign)]);
    t = number(t, S::ExponentSign, S::BadNumber, &digit(S::Power));
    t = number(t, S::Power, S::EndNumber, &digit(S::Power));

    t = row(t, S::AfterKey, &[(Colon, S::Colon)]);
    t[S::Tail as usize] = [S::BadTail; COLUMNS];
    row(t, S::Tail, &[])
};

const CLASSES: &[Class; 256] = &BYTES;

const BYTES: [Class; 256] = {
    let (mut classes, mut byte) = ([Class::Other; 256], 0u8);
    loop {
        classes[byte as usize] = Class::of(byte);
        match byte.checked_add(1) {
            Some(next) => byte = next,
            None => break classes,
        }
    }
};

/// Returns the state that a byte leads to from a row.
#[inline(always)]
pub(super) const fn next(row: State, byte: u8) -> State {
    TABLE[row as usize][CLASSES[byte as usize] as usize]
}

/// Returns the state before the value of a field.
pub(super) const fn before_value(field: Field) -> State {
    match field {
        Field::Dtype => State::DtypeValue,
        Field::Shape => State::ShapeValue,
        Field::Offsets => State::OffsetsValue,
    }
}

/// Returns the error for a byte that leads to this bad state.
pub(super) const fn fault(bad: State, byte: u8) -> Fault {
    match bad {
        State::BadTail => Fault::Trailing(byte),
        State::BadNumber => Fault::Number,
        State::BadHeader => Fault::HeaderType,
        State::BadEntry => Fault::EntryType,
        State::ArrayForEntry => Fault::EntryArray,
        State::BadDtype => Fault::DtypeType,
        State::ObjectForDtype => Fault::DtypeObject,
        State::BadShape => Fault::ShapeType,
        State::BadDim => Fault::ShapeInteger,
        State::BadOffsets => Fault::OffsetsType,
        State::BadOffset => Fault::OffsetsInteger,
        State::BadCount => Fault::OffsetsCount,
        State::BadMetadata => Fault::MetadataType,
        State::BadText => Fault::MetadataValue,
        _ => {
            debug_assert!(matches!(bad, State::Bad), "each of the others has an arm");
            Fault::UnexpectedByte(byte)
        }
    }
}
