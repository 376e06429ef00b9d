//! Arrays in numpy's formats: one in a `.npy` file, many in a `.npz` archive.
//!
//! Everything is streamed. Lengths in a file are trusted only up to the file's length: a header takes at
//! most a mebibyte of memory, a list of entries at most as much as a safetensors header, and unpacked bytes
//! are counted against the size of the array. Bytes are returned as in safetensors: little-endian, last
//! axis fastest.

mod arrays;
mod dict;
mod header;
mod swapped;

pub use arrays::Arrays;
pub use header::{Header, Order};
pub(crate) use swapped::swapped;
