//! Use this when you read a tensor from storage: a [`TensorReader`](crate::TensorReader) reads its bytes,
//! [`Values`] its elements as numbers of your type, and a [`SliceReader`] the bytes of a slice.
//!
//! A [`TensorReader`](crate::TensorReader) creates the other two, for all of a tensor, some of its rows, or
//! a slice.

pub(crate) mod region;
mod shift;
mod slice;
pub(crate) mod sliced;
pub(crate) mod tensor;
mod values;

// Imports of the files that are compiled for both the blocking and the asynchronous form.
use crate::integrity::feed::feed;
use crate::io::{ReadAt, read_full, read_part};
#[cfg(feature = "embedded-io")]
use embedded_io as eio;
use embedded_safetensors_macros::blocking as form;

pub use region::{Contiguous, Region};
pub use slice::SliceReader;
pub use sliced::Sliced;
pub use values::Values;
