//! What the parser knows of where it is: what may come next, in which bracket, and what for.

use super::machine::Signal;

/// What may come next.
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
    Value,
    FirstItem,
    FirstKey,
    NextKey,
    Colon,
    /// Behind a key and its value, or behind an item.
    After,
    Tail,
}

/// The innermost bracket that is open.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Inside {
    Header,
    Entry,
    Metadata,
    /// A shape or offsets.
    List,
    /// A value that is skipped; `nesting` knows more.
    Skipped,
}

/// What is wanted next, or is being read: one of the keys, or a value.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Want {
    Name,
    Field,
    Key,
    SkipKey,
    Header,
    Entry,
    Metadata,
    Dtype,
    List,
    Integer,
    /// A value of `__metadata__`.
    Text,
    /// A value that is skipped.
    Anything,
}

impl Want {
    /// What a piece of such a string is reported as, if it is.
    pub(super) const fn piece(self) -> Option<Signal> {
        match self {
            Self::Name => Some(Signal::Name),
            Self::Key => Some(Signal::Key),
            Self::Text => Some(Signal::Value),
            _ => None,
        }
    }
}
