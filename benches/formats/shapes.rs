//! The vector for serde: a structure with one field, as a list of numbers or as bytes.

use serde::{Deserialize, Serialize};

/// Numbers to write.
#[derive(Serialize, bincode::Encode)]
pub struct Numbers<'v> {
    pub features: &'v [f32],
}

/// Numbers that were read, in their own memory.
#[derive(Deserialize, bincode::Decode)]
pub struct OwnNumbers {
    pub features: Vec<f32>,
}

/// Bytes to write, or bytes that were read in place.
#[derive(Serialize, Deserialize, bincode::Encode, bincode::BorrowDecode)]
pub struct Bytes<'b> {
    #[serde(borrow, with = "serde_bytes")]
    pub features: &'b [u8],
}

/// Bytes that were read, in their own memory.
#[derive(Deserialize)]
pub struct OwnBytes {
    #[serde(with = "serde_bytes")]
    pub features: Vec<u8>,
}

/// How values are read: text for the table.
pub const NUMBERS: &str = "number by number, into new memory";
pub const BYTES: &str = "bytes found in the file, copied";
pub const OWN_BYTES: &str = "bytes into new memory, copied";
