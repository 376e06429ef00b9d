//! Why there can be no file as it is described.

use super::log::Named;
use super::{Class, MAX_HEADER_LEN};

/// What tensors of padding are called, before their number.
pub const PADDING: &str = "__padding__.";

/// Why there can be no file as it is described, and what of the description says so.
///
/// *Memory*: 40 bytes, 24 where pointers have 32 bits; `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// What is wrong, with the numbers that matter.
    pub kind: SpecErrorKind,
    /// What of the description.
    pub part: SpecPart,
}

/// A part of a [`FileSpec`](crate::write::FileSpec).
///
/// *Memory*: 16 bytes, 8 where pointers have 32 bits; `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SpecPart {
    /// The tensor at this place of the array of tensors, counted from 0.
    Tensor(usize),
    /// The key at this place of the array of `__metadata__`, counted from 0.
    Key(usize),
    /// All of it together.
    File,
}

/// What is wrong with a description. Each has a stable text code ([`code`](Self::code)); `Display` is one sentence.
///
/// *Memory*: 24 bytes, 16 where pointers have 32 bits; `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecErrorKind {
    /// The name is `__metadata__`, part no reader takes for a tensor; or, in a file that is padded, it is one of padding.
    Reserved,
    /// An earlier tensor has the same name.
    NameTwice {
        /// Where in the array.
        other: usize,
    },
    /// An earlier key is the same.
    KeyTwice {
        /// Where in the array.
        other: usize,
    },
    /// The tensor or the key belongs before the one in front of it.
    OutOfOrder,
    /// The number of bits of the tensor exceeds 2^64 - 1, or that of its elements does on the way, counted from the left: no reader takes
    /// `[2^32, 2^32, 0]`, either.
    Overflow,
    /// The tensor does not fill whole bytes.
    SubByte {
        /// How many elements it has.
        elements: u64,
        /// How wide one is.
        bits: u8,
    },
    /// The file would have more bytes than 64 bits count.
    DataTooLong,
    /// The header would be longer than [`MAX_HEADER_LEN`].
    HeaderTooLarge {
        /// How long, with the spaces at its end.
        length: u64,
    },
    /// Tensors were to begin at multiples of a number that is no power of two, or less than 8.
    Placement {
        /// That number.
        asked: u32,
    },
    /// There is too little memory to sort in.
    OrderMemory {
        /// How many numbers are enough.
        needed: usize,
        /// How many there is room for.
        capacity: usize,
    },
}

names! {
    SpecErrorKind:
    /// The stable text code.
    code:
    Self::Reserved => "usage.reserved",
    Self::NameTwice { .. } => "usage.name",
    Self::KeyTwice { .. } => "usage.key",
    Self::OutOfOrder => "usage.order",
    Self::Overflow => "usage.overflow",
    Self::SubByte { .. } => "usage.bits",
    Self::DataTooLong => "usage.data",
    Self::HeaderTooLarge { .. } => "usage.header",
    Self::Placement { .. } => "usage.placement",
    Self::OrderMemory { .. } => "limit.sort",
}

impl SpecErrorKind {
    /// Whose fault it is: the memory's, or the caller's.
    pub const fn class(self) -> Class {
        match self {
            Self::OrderMemory { .. } => Class::Limit,
            _ => Class::Usage,
        }
    }

    /// At this part of the description.
    pub(crate) const fn at(self, part: SpecPart) -> SpecError {
        SpecError { kind: self, part }
    }
}

sentences! {
    SpecErrorKind:
    Self::Reserved => "\"__metadata__\" is no name for a tensor, nor \"{}…\" in a file that is padded", PADDING;
    Self::NameTwice { other } => "tensor {} has the same name", other;
    Self::KeyTwice { other } => "key {} is the same", other;
    Self::OutOfOrder => "belongs before the one in front of it: sort them, or have them sorted";
    Self::Overflow => "its size, counted in bits, does not fit into 64 bits";
    Self::SubByte { elements: 1, bits } => "1 element of {} bits does not fill whole bytes", bits;
    Self::SubByte { elements, bits } => "{} elements of {} bits do not fill whole bytes", elements, bits;
    Self::DataTooLong => "the length of the file does not fit into 64 bits";
    Self::HeaderTooLarge { length } =>
        "the header has {} bytes, more than the {} that are allowed", length, MAX_HEADER_LEN;
    Self::Placement { asked } => "tensors cannot begin at multiples of {}: not a power of two from 8 on", asked;
    Self::OrderMemory { needed, capacity } =>
        "sorting takes room for {} numbers, one a tensor and one a key, but there is room for {}", needed, capacity;
}

sentences! {
    SpecError:
    Self { kind, part: SpecPart::Tensor(index) } =>
        "error[{}] in tensor {}, counted from 0: {}", Named(*kind), index, kind;
    Self { kind, part: SpecPart::Key(index) } =>
        "error[{}] in key {}, counted from 0: {}", Named(*kind), index, kind;
    Self { kind, part: SpecPart::File } => "error[{}]: {}", Named(*kind), kind;
}

impl core::error::Error for SpecError {}

impl core::error::Error for SpecErrorKind {}

#[cfg(feature = "std")]
impl From<SpecError> for std::io::Error {
    /// `OutOfMemory` for a limit, `InvalidInput` for a caller's mistake.
    fn from(error: SpecError) -> Self {
        let kind = match error.kind.class() {
            Class::Limit => std::io::ErrorKind::OutOfMemory,
            Class::File | Class::Usage => std::io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}
