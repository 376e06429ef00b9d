//! The reason why a text has no embedding: a sentence for people, and an exit code for programs.

use super::tokens::{MAX_TEXT, MAX_TOKENS};

/// A failure, classified by its cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failure<E> {
    /// The model cannot be used.
    Model(crate::Failure<E>),
    /// The vocabulary or the text, as named, cannot be read at this byte.
    Unread(&'static str, u64, E),
    /// The file of this length is not the vocabulary of the model, or it is damaged.
    OtherVocabulary(u64),
    /// The text cannot be used.
    Text(Unusable),
    /// A result is infinite or not a number, because weights are.
    NotFinite,
}

/// Why a text cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// This byte of it is not UTF-8.
    NotUtf8(usize),
    /// Its file ends at this byte, before its end was due.
    Cut(usize),
    /// It has this number of bytes, more than [`MAX_TEXT`].
    Long(usize),
    /// It has this number of tokens, more than [`MAX_TOKENS`].
    ManyTokens(usize),
    /// It is not known how the original divides a text with this character, which is at this byte.
    Character(usize, char),
    /// It contains the name of a special token, such as `[SEP]`, at this byte.
    Special(usize),
}

impl<E> Failure<E> {
    /// Returns the exit code of the program, as [`crate::Failure`] does, or 6 if the text cannot be used.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Model(failure) => failure.exit_code(),
            Self::NotFinite => 1,
            Self::Unread(..) => 2,
            Self::OtherVocabulary(_) => 3,
            Self::Text(_) => 6,
        }
    }
}

impl<E> From<crate::Failure<E>> for Failure<E> {
    fn from(failure: crate::Failure<E>) -> Self {
        Self::Model(failure)
    }
}

sentences! {
    Failure<E>:
    Self::Model(failure) => "{}", failure;
    Self::Unread(file, at, error) => "error at byte {}: the {} cannot be read: {}", at, file, error;
    Self::OtherVocabulary(bytes) =>
        "error: the vocabulary, {} bytes, has another SHA-256 than vocab.txt of all-MiniLM-L6-v2", bytes;
    Self::Text(unusable) => "error: the text {}", unusable;
    Self::NotFinite => "error: the embedding is not finite, because weights of the model are not";
}

sentences! {
    Unusable:
    Self::NotUtf8(at) => "is not UTF-8 at its byte {}", at;
    Self::Cut(at) => "ends at its byte {}, before its end was due", at;
    Self::Long(bytes) => "has {} bytes, but at most {} are supported", bytes, MAX_TEXT;
    Self::ManyTokens(tokens) =>
        "has {} tokens with [CLS] and [SEP], but memory is for {}", tokens, MAX_TOKENS;
    Self::Character(at, character) =>
        "has the character U+{:04X} at its byte {}, which is not supported", u32::from(*character), at;
    Self::Special(at) => "has the name of a special token at its byte {}", at;
}
