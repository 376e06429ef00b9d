//! Arrays as numpy stores them: one in a `.npy` file, many in a `.npz` archive.
//!
//! Everything is streamed. What a file claims is believed only as far as the file is long: a header is read into at
//! most a mebibyte, a list of entries into at most as much as a header of safetensors, and what an entry unpacks to
//! is counted against what its array takes. Bytes come out as safetensors has them: low byte first, last axis fastest.

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

/// What is wrong with the contents of a file, as a sentence; all other errors are those of the system.
pub fn unsound(sentence: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, sentence.into())
}
