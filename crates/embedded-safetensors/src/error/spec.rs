//! Why a file cannot be written as its specification says.

use super::log::Named;
use super::{Class, MAX_HEADER_LEN};

/// The name of a padding tensor, before its number.
pub const PADDING: &str = "__padding__.";

/// Why a file cannot be written as its specification says, and which part of the specification is wrong.
///
/// *Memory*: 40 bytes, 24 where pointers have 32 bits; `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// What is wrong, with the numbers that matter.
    pub kind: SpecErrorKind,
    /// The part of the specification.
    pub part: SpecPart,
}

/// A part of a [`FileSpec`](crate::write::FileSpec).
///
/// *Memory*: 16 bytes, 8 where pointers have 32 bits; `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SpecPart {
    /// The tensor at this index.
    Tensor(usize),
    /// The key of `__metadata__` at this index.
    Key(usize),
    /// The file as a whole.
    File,
}

/// What is wrong with a specification. Each has a stable text code ([`code`](Self::code)); `Display` is one
/// sentence.
///
/// *Memory*: 24 bytes, 16 where pointers have 32 bits; `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecErrorKind {
    /// The name is reserved: `__metadata__`, or in a padded file the name of a padding tensor.
    Reserved,
    /// An earlier tensor has the same name.
    DuplicateName {
        /// The index of the other.
        other: usize,
    },
    /// An earlier key is the same.
    DuplicateKey {
        /// The index of the other.
        other: usize,
    },
    /// The tensor or the key belongs before its predecessor.
    OutOfOrder,
    /// The number of bits, or the product of the dimensions from left to right, exceeds 2^64 - 1. No reader
    /// accepts `[2^32, 2^32, 0]` either.
    Overflow,
    /// The tensor ends inside a byte.
    SubByte {
        /// How many elements it has.
        elements: u64,
        /// How wide one is.
        bits: u8,
    },
    /// The length of the file does not fit into 64 bits.
    DataTooLong,
    /// The header would be longer than [`MAX_HEADER_LEN`].
    HeaderTooLarge {
        /// Its length, with the spaces at its end.
        length: u64,
    },
    /// The requested alignment is less than 8, or not a power of two.
    Placement {
        /// The requested alignment.
        asked: u32,
    },
    /// There is too little memory to sort.
    OrderMemory {
        /// How many numbers are enough.
        needed: usize,
        /// How many are available.
        capacity: usize,
    },
}

names! {
    SpecErrorKind:
    /// The stable text code.
    code:
    Self::Reserved => "usage.reserved",
    Self::DuplicateName { .. } => "usage.name",
    Self::DuplicateKey { .. } => "usage.key",
    Self::OutOfOrder => "usage.order",
    Self::Overflow => "usage.overflow",
    Self::SubByte { .. } => "usage.bits",
    Self::DataTooLong => "usage.data",
    Self::HeaderTooLarge { .. } => "usage.header",
    Self::Placement { .. } => "usage.placement",
    Self::OrderMemory { .. } => "limit.sort",
}

impl SpecErrorKind {
    /// Which side must act: too little memory, or a mistake of the caller.
    pub const fn class(self) -> Class {
        match self {
            Self::OrderMemory { .. } => Class::Limit,
            _ => Class::Usage,
        }
    }

    /// This kind, in this part of the specification.
    pub(crate) const fn at(self, part: SpecPart) -> SpecError {
        SpecError { kind: self, part }
    }
}

sentences! {
    SpecErrorKind:
    Self::Reserved =>
        "reserved name: \"__metadata__\" is never allowed, and names that begin with \"{}\" are not allowed in a padded file", PADDING;
    Self::DuplicateName { other } => "duplicate name: tensor {} has the same name", other;
    Self::DuplicateKey { other } => "duplicate key: key {} is the same", other;
    Self::OutOfOrder => "out of order: it belongs before its predecessor; use plan_sorted";
    Self::Overflow =>
        "tensor too large: the product of its dimensions, or its size in bits, does not fit into 64 bits";
    Self::SubByte { elements: 1, bits } => "ends inside a byte: it has 1 element of {} bits", bits;
    Self::SubByte { elements, bits } => "ends inside a byte: it has {} elements of {} bits", elements, bits;
    Self::DataTooLong => "the length of the file does not fit into 64 bits";
    Self::HeaderTooLarge { length } =>
        "header too large: {} bytes, at most {} are allowed", length, MAX_HEADER_LEN;
    Self::Placement { asked } => "tensors cannot be aligned to {}: an alignment is a power of two, and at least 8", asked;
    Self::OrderMemory { needed, capacity } =>
        "too little memory to sort: {} numbers needed (one for each tensor and one for each key), {} available", needed, capacity;
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
