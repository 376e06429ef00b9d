//! What can be wrong with a header, in two bytes.

use crate::error::{ErrorKind, Field};
use crate::shape::MAX_RANK;
use crate::tensor::info::Agreement;

/// An [`ErrorKind`] without its numbers, which are still to be had from those who found the fault: an
/// error as large as it is would be copied from frame to frame, and a header is read on small stacks.
#[derive(Clone, Copy)]
pub(crate) enum Fault {
    FileTooShort,
    HeaderTooLarge,
    HeaderBeyondFile,
    Utf8,
    UnexpectedByte(u8),
    UnexpectedEnd,
    ControlCharacter(u8),
    Escape(u8),
    Surrogate,
    Number,
    Depth,
    Trailing(u8),
    HeaderType,
    EntryType,
    EntryArray,
    Missing(Field),
    Repeated(Field),
    DtypeType,
    DtypeObject,
    DtypeUnknown,
    ListType(Field),
    NotAnInteger(Field),
    IntegerRange(Field),
    OffsetsCount,
    MetadataType,
    MetadataValue,
    MetadataTwice,
    Overflow,
    NameTwice,
    KeyTwice,
    Rank,
    NoText,
    Changed,
    /// A tensor does not agree with itself.
    Tensor(Agreement),
    /// What was built upon the parser found something of its own.
    Other,
}

impl Fault {
    /// The kind, given the length of the header where that is known and the place of the fault.
    pub(super) const fn kind(self, length: u64, at: u64) -> ErrorKind {
        match self {
            Self::FileTooShort => ErrorKind::FileTooShort,
            Self::HeaderTooLarge => ErrorKind::HeaderTooLarge { length },
            Self::HeaderBeyondFile => ErrorKind::HeaderBeyondFile { length, present: at.saturating_sub(8) },
            Self::Utf8 => ErrorKind::Utf8,
            Self::UnexpectedByte(byte) => ErrorKind::UnexpectedByte(byte),
            Self::UnexpectedEnd => ErrorKind::UnexpectedEnd,
            Self::ControlCharacter(byte) => ErrorKind::ControlCharacter(byte),
            Self::Escape(byte) => ErrorKind::Escape(byte),
            Self::Surrogate => ErrorKind::Surrogate,
            Self::Number => ErrorKind::Number,
            Self::Depth => ErrorKind::Depth,
            Self::Trailing(byte) => ErrorKind::Trailing(byte),
            Self::HeaderType => ErrorKind::HeaderType,
            Self::EntryType => ErrorKind::EntryType,
            Self::EntryArray => ErrorKind::EntryArray,
            Self::Missing(field) => ErrorKind::Missing(field),
            Self::Repeated(field) => ErrorKind::Repeated(field),
            Self::DtypeType => ErrorKind::DtypeType,
            Self::DtypeObject => ErrorKind::DtypeObject,
            Self::DtypeUnknown => ErrorKind::DtypeUnknown,
            Self::ListType(field) => ErrorKind::ListType(field),
            Self::NotAnInteger(field) => ErrorKind::NotAnInteger(field),
            Self::IntegerRange(field) => ErrorKind::IntegerRange(field),
            Self::OffsetsCount => ErrorKind::OffsetsCount,
            Self::MetadataType => ErrorKind::MetadataType,
            Self::MetadataValue => ErrorKind::MetadataValue,
            Self::MetadataTwice => ErrorKind::MetadataTwice,
            Self::Overflow => ErrorKind::Overflow,
            Self::NameTwice => ErrorKind::NameTwice,
            Self::KeyTwice => ErrorKind::KeyTwice,
            Self::Rank => ErrorKind::Rank { limit: MAX_RANK.to_le_bytes()[0] },
            Self::NoText => ErrorKind::NoText,
            // These are told by whoever found them.
            Self::Changed | Self::Tensor(_) | Self::Other => ErrorKind::Changed,
        }
    }
}
