//! The safetensors format for machines with kilobytes.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "std")]
extern crate std;

mod dtype;
mod error;
mod info;
mod shape;

pub use dtype::Dtype;
pub use error::{Blame, Error, ErrorKind, Field, MAX_HEADER_LEN};
pub use info::TensorInfo;
pub use shape::{MAX_RANK, Shape};
