//! What is wrong with a file, a device or a call: every error has a stable code, a sentence, and the byte
//! where it was found.

#[macro_use]
pub(crate) mod log;
pub(crate) mod sentence;
pub(crate) mod spec;
pub(crate) mod table;

pub use table::{ErrorKind, Field};

/// The longest header the format allows, in bytes (inclusive).
pub const MAX_HEADER_LEN: u64 = 100_000_000;

/// One fault: what it is and the byte of the file where it shows.
///
/// *Memory*: 32 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong, with the numbers that matter.
    pub kind: ErrorKind,
    /// Offset in the file, counted from 0. For a fault of the file's length it is the byte where
    /// the file ends too early or the first byte that should not be there.
    pub at: u64,
}

/// The class of an error: who can mend it.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Class {
    /// The file is not a sound safetensors file.
    File,
    /// The file may be sound; the memory given to the reader is too small to tell or to hold it.
    Limit,
    /// The caller broke a contract; the file was not judged.
    Usage,
}

/// What an index has memory for.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum IndexPart {
    /// Tensors.
    Tensors,
    /// Dimensions, those of all shapes together.
    Dims,
    /// Bytes of names, all together.
    Names,
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
