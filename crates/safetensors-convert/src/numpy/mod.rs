//! Arrays in numpy's formats: one in a `.npy` file, many in a `.npz` archive.
//!
//! Everything is streamed. Lengths in a file are trusted only up to the file's length: a header takes at
//! most a mebibyte of memory, a list of entries at most as much as a safetensors header, and unpacked bytes
//! are counted against the size of the array. Bytes are returned as in safetensors: little-endian, last
//! axis fastest.

mod ahead;
mod dict;
mod directory;
mod entry;
mod header;
mod pack;
mod part;
mod swapped;
mod transpose;

pub use directory::{Entry, entries, is_unsafe};
pub use entry::open_entry;
pub use header::{Header, Order};
pub use pack::Archive;
pub use part::{Part, read_full};
pub use swapped::Swapped;
pub use transpose::transposed;

use std::io;

/// Returns an error about the contents of a file, with this sentence; all other errors come from the
/// system.
pub fn unsound(sentence: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, sentence.into())
}
