//! A tensor read from storage as values: all of it, some of its rows, or a slice. The bytes are those of a
//! [`TensorReader`](crate::TensorReader), from which these are made.

pub(crate) mod contiguous;
pub(crate) mod filling;
pub(crate) mod gathering;
pub(crate) mod place;
pub(crate) mod region;
mod slice;
pub(crate) mod sliced;
pub(crate) mod tensor;
pub(crate) mod turning;
mod values;

// What the files of both forms import.
use crate::io::{ReadAt, read_full};
#[cfg(feature = "embedded-io")]
use embedded_io as eio;
use embedded_safetensors_macros::blocking as form;

pub use contiguous::Contiguous;
pub use region::Region;
pub use slice::SliceReader;
pub use sliced::Sliced;
pub use values::Values;
