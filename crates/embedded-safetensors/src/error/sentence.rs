//! The sentences of errors: the same at run time, in build errors and in logs.

use crate::dtype::{Dtype, DtypeSet};
use crate::error::log::Named;
use crate::error::{Error, ErrorKind, Field, QuantRole};
use core::fmt;

/// A number or a name in a sentence.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Number(u64),
    /// A number of bytes, in words.
    Bytes(u64),
    /// One byte, as the character that it is or in hexadecimal.
    Byte(u8),
    /// Four bytes of a sum.
    Hex(u32),
    Type(Dtype),
    Types(DtypeSet),
    Member(Field),
    Role(QuantRole),
}

use Part::{Byte, Bytes, Hex, Member, Number, Role, Type, Types};

/// One sentence, without a period: a text with `{}` for each part. Unused parts are 0.
pub(crate) struct Sentence {
    pub(crate) text: &'static str,
    pub(crate) parts: [Part; 4],
}

impl Sentence {
    pub(super) const fn of(text: &'static str, parts: &[Part]) -> Self {
        let parts = match *parts {
            [first, second, third, fourth] => [first, second, third, fourth],
            [first, second, third] => [first, second, third, Number(0)],
            [first, second] => [first, second, Number(0), Number(0)],
            [only] => [only, Number(0), Number(0), Number(0)],
            _ => [Number(0); 4],
        };
        Self { text, parts }
    }
}

/// Splits a text at its first `{}`.
pub(crate) const fn split(text: &str) -> Option<(&str, &str)> {
    let (mut at, mut left) = (0, text.as_bytes());
    while let [byte, rest @ ..] = left {
        if *byte == b'{' {
            break;
        }
        (at, left) = (at + 1, rest);
    }
    match text.split_at_checked(at) {
        Some((before, rest)) => match rest.split_at_checked(2) {
            Some((_, after)) => Some((before, after)),
            None => None,
        },
        None => None,
    }
}

/// Whether there is one `{}` for each part, and at most four.
pub(super) const fn fits(text: &str, parts: &[&str]) -> bool {
    let (mut count, mut left) = (0, text);
    while let Some((_, after)) = split(left) {
        (count, left) = (count + 1, after);
    }
    count == parts.len() && count <= 4
}

sentences! {
    Part:
    Bytes(1) => "1 byte";
    Bytes(number) => "{} bytes", number;
    Number(number) => "{}", number;
    Byte(byte) if byte.is_ascii_graphic() => "'{}'", char::from(*byte);
    Byte(byte) => "byte 0x{:02x}", byte;
    Hex(number) => "{:08x}", number;
    Type(dtype) => "{}", dtype;
    Types(dtypes) => "{}", dtypes;
    Member(field) => "{}", Named(*field);
    Role(role) => "{}", Named(*role);
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut text, mut left) = (self.text, self.parts.as_slice());
        while let (Some((before, rest)), [part, parts @ ..]) = (split(text), left) {
            write!(f, "{before}{part}")?;
            (text, left) = (rest, parts);
        }
        f.write_str(text)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)
    }
}

impl fmt::Display for Named<ErrorKind> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.code())
    }
}

/// A header of length 0, which the position of [`ErrorKind::UnexpectedEnd`] shows.
#[derive(Clone, Copy)]
struct Zeros;

names! {
    Zeros:
    /// Its sentence.
    text:
    Self => "the first 8 bytes are zeros, as in blank memory: no file was written here, or not all of it",
}

impl Error {
    /// The sentence that `Display` writes after the code and the byte.
    pub(crate) const fn sentence(self) -> Sentence {
        match self {
            Self { kind: ErrorKind::UnexpectedEnd, at: 8 } => Sentence::of(Zeros.text(), &[]),
            Self { kind, .. } => kind.sentence(),
        }
    }
}

sentences! {
    Error:
    Self { kind: kind @ ErrorKind::UnexpectedEnd, at: 8 } =>
        "error[{}] at byte 8: {}", Named(*kind), Named(Zeros);
    Self { kind, at } => "error[{}] at byte {}: {}", Named(*kind), at, kind;
}
