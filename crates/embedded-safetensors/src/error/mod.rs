//! Errors: each has a stable code, a sentence, and the byte where it was found.
//!
//! Use this when a program reacts to errors: [`Class`] tells a bad file, too little memory and a mistake
//! of the caller apart. Printing an error with `{}` links the formatting code; `error.kind.code()` and
//! `error.at` do not.

#[macro_use]
pub(crate) mod log;
pub(crate) mod sentence;
pub(crate) mod spec;
pub(crate) mod table;

pub use table::{ErrorKind, Field};

use crate::util::bytes::low_u32;
use core::num::NonZero;

/// The longest header the format allows, in bytes (inclusive).
pub const MAX_HEADER_LEN: u64 = 100_000_000;

/// An error: its kind, and the byte of the file where it was found.
///
/// *Memory*: 32 bytes, `Copy`.
///
/// ```
/// use embedded_safetensors::{Model, ReadError};
///
/// let erased = [0xFF; 64];
/// let Err(ReadError::Format(error)) = Model::open(&erased[..], &mut [0; 64]) else { unreachable!() };
/// assert_eq!((error.kind.code(), error.at), ("container.header-too-large", 0)); // links no formatting code
/// println!("{error}"); // error[…] at byte 0: the first 8 bytes are 0xff, as in erased flash: …
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong, with the numbers that matter.
    pub kind: ErrorKind,
    /// The offset in the file. If the file has a wrong length, it is the byte where the file ends too
    /// early, or the first extra byte.
    pub at: u64,
}

/// The class of an error: which side must act.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Class {
    /// The file is not a valid safetensors file, or not the expected one.
    File,
    /// The file may be valid; the memory or the device is too small to tell, or to hold it.
    Limit,
    /// The caller broke a contract; this is no verdict on the file.
    Usage,
}

/// A part of an index's memory.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum IndexPart {
    /// Tensors.
    Tensors,
    /// The dimensions of all shapes together.
    Dims,
    /// The bytes of all names together.
    Names,
}

/// The index of a query or a target in its array.
///
/// *Memory*: 4 bytes, also in an `Option`; `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct QueryIndex(NonZero<u32>);

impl QueryIndex {
    /// Creates an index, or returns `None` if it is 2^32 - 1 or more.
    pub const fn new(index: usize) -> Option<Self> {
        match (index as u64).checked_add(1) {
            Some(number) if number <= u32::MAX as u64 => match NonZero::new(low_u32(number)) {
                Some(number) => Some(Self(number)),
                None => None,
            },
            _ => None,
        }
    }

    /// Returns the index, counted from 0.
    pub const fn get(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl Error {
    /// Returns the same error, of a tensor of a list.
    #[cfg(feature = "embedded-io-async")]
    pub(crate) const fn of_query(mut self, index: usize) -> Self {
        if let ErrorKind::NotFound { query } | ErrorKind::DtypeMismatch { query, .. } = &mut self.kind {
            *query = QueryIndex::new(index);
        }
        self
    }

    /// Returns the name of the query or target that is missing, or has another dtype or shape than requested.
    /// `None` for other errors.
    pub fn tensor_name<'n>(&self, queries: &'n [impl AsRef<str>]) -> Option<&'n str> {
        self.kind.query().and_then(|query| queries.get(query.get())).map(AsRef::as_ref)
    }
}

/// The role of a tensor in a quantised matrix.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum QuantRole {
    /// The stored integers or floats of 4 or 8 bits.
    Weight,
    /// What they are multiplied by.
    Scale,
    /// What is subtracted from them first.
    ZeroPoint,
    /// What the scales of an NVFP4 matrix are multiplied with, or divided by.
    GlobalScale,
}

names! {
    QuantRole:
    /// Returns the word for it, in the plural.
    name:
    Self::Weight => "weights",
    Self::Scale => "scales",
    Self::ZeroPoint => "zero points",
    Self::GlobalScale => "global scales",
}

impl core::error::Error for Error {}

impl core::error::Error for ErrorKind {}

#[cfg(feature = "std")]
impl From<Error> for std::io::Error {
    /// `InvalidData` for a bad file, `OutOfMemory` for a limit, `InvalidInput` for a caller's mistake.
    fn from(error: Error) -> Self {
        let kind = match error.kind.class() {
            Class::File => std::io::ErrorKind::InvalidData,
            Class::Limit => std::io::ErrorKind::OutOfMemory,
            Class::Usage => std::io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}
