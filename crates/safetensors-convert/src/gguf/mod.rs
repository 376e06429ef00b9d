//! Models in the format of llama.cpp: GGUF.
//!
//! Versions 2 and 3 are read, version 3 in both byte orders, and version 3 is written, little-endian. Nothing
//! is executed. Lengths in a file are trusted only up to the file's length, and elements are streamed.
//!
//! # Shapes
//! GGUF lists the fastest axis first, safetensors lists it last: dims are reversed, as gguf-py reverses them.
//!
//! # Elements
//! F32, F16, BF16, F64, I8, I16, I32 and I64 are copied. Quantised tensors are made floats, or are raw, as
//! [`Options`] say:
//!
//! * Floats are, bit for bit, the F32 that `gguf.quants.dequantize` of gguf-py makes. gguf-py has no such
//!   function for Q8_1, Q8_K and Q1_0, which are rejected.
//! * Raw tensors are U8. The last dim of their shape is the number of bytes of a row, as in gguf-py: the
//!   blocks of the row, one after the other, with little-endian scales. [`TYPES`] in `__metadata__` lists
//!   their types as a JSON object: `{"blk.0.attn_q.weight":"Q4_K"}`.
//!
//! A big-endian file is read if its tensors have types of which gguf-py can change the byte order.
//!
//! # Metadata
//! Each key is in `__metadata__` with the prefix `gguf.`. Its value is the name of the type, as gguf-py names
//! it but in lower case, a colon, and the value:
//!
//! | value | in `__metadata__` |
//! |---|---|
//! | integers | `uint32:32` |
//! | floats: the shortest digits that are read back as the same number | `float32:1e-5`, `float64:-inf` |
//! | NaNs: their bits | `float32:0x7fc00000` |
//! | booleans | `bool:true` |
//! | strings, as they are | `string:llama` |
//! | strings that are not UTF-8, in hexadecimal digits | `string-hex:ff61` |
//! | arrays, with the type of the items | `array:uint32[1,2]` |
//! | arrays of strings, quoted as in JSON, or in hexadecimal digits | `array:string["a\n",ff61]` |
//! | arrays of arrays | `array:array[uint32[1,2],string[]]` |
//!
//! Each value of a file has one text, from which [`Plan`] restores the same bytes. [`KEYS`] and [`TENSORS`]
//! list the keys and the names of tensors in the order of the file as JSON arrays, since safetensors sorts
//! both: [`sort_tensors`] restores the order of tensors. A single tensor is not listed, nor are names of more
//! than 24 MiB.
//!
//! Files of a [`Split`] model say which they are in `split.no`, `split.count` and `split.tensors.count`.
//! These keys are not in `__metadata__`: they are about the file, not about the model.
//!
//! # Limits
//! Tensors have at most 8 dims, as the writers of the format have at most 4. The alignment is at most 65,536,
//! because each tensor may need as much padding. The texts in `__metadata__` have
//! at most 24 MiB, which is more than the largest tokenizers need; [`Options`] can leave them out. Arrays are
//! at most 64 deep.

mod elements;
mod input;
mod kind;
mod lists;
mod parse;
mod quants;
mod reader;
mod split;
#[cfg(test)]
mod tests;
mod value;
mod write;

pub use kind::Kind;
pub use lists::{RawTypes, list_tensors, sort_tensors};
pub use reader::{Gguf, Options};
pub use split::Split;
pub use write::{Plan, Writer};

/// The key of `__metadata__` that lists the types of raw tensors.
pub const TYPES: &str = "gguf_types";

/// The key of `__metadata__` that lists the keys of the file.
pub const KEYS: &str = "gguf_keys";

/// The key of `__metadata__` that lists the names of tensors in the order of the file.
pub const TENSORS: &str = "gguf_tensors";

/// The prefix of all other keys.
const PREFIX: &str = "gguf.";
/// The key of the alignment of data, in bytes, and the alignment if it is missing.
const ALIGNMENT: &str = "general.alignment";
const DEFAULT_ALIGNMENT: u32 = 32;
/// The largest alignment. Each tensor has up to so many bytes of padding.
const LARGEST_ALIGNMENT: u32 = 65_536;
const MAGIC: [u8; 4] = *b"GGUF";
/// The most bytes of the texts in `__metadata__`, and of the list of tensors.
const MOST_TEXT: usize = 24 << 20;
/// The most tensors of a file.
const MOST_TENSORS: u64 = 2_000_000;
/// The most dims of a tensor.
const MOST_DIMS: u32 = 8;
/// The deepest arrays of arrays.
const DEEPEST: usize = 64;

/// Checks that an alignment in this place is not beyond the limit.
fn check_alignment(alignment: u32, place: &input::Place) -> std::io::Result<()> {
    if alignment <= LARGEST_ALIGNMENT {
        return Ok(());
    }
    let most = LARGEST_ALIGNMENT;
    Err(place.beyond(format!("the alignment {alignment} is too large, at most {most} is supported")))
}

/// Returns the next multiple of an alignment.
fn aligned(at: u64, alignment: u32) -> Option<u64> {
    at.checked_next_multiple_of(u64::from(alignment))
}
