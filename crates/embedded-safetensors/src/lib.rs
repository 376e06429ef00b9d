// Its examples are tested where the features are on that they use.
#![cfg_attr(any(not(doctest), all(feature = "embedded-io", feature = "std")), doc = include_str!("../README.md"))]
#![no_std]
#![deny(unsafe_code)]

// Lengths and counts that fit into 32 bits are turned into `usize`.
#[cfg(target_pointer_width = "16")]
compile_error!("embedded-safetensors needs pointers of at least 32 bits");

#[cfg(feature = "std")]
extern crate std;

#[macro_use]
pub mod error;

#[cfg(feature = "embedded-io-async")]
pub mod asynch;
mod dtype;
#[cfg(all(feature = "std", any(unix, windows)))]
pub mod file;
pub mod header;
pub mod index;
pub mod io;
pub mod metadata;
mod model;
pub mod query;
pub mod reader;
mod shape;
pub mod slice;
pub mod stream;
pub mod tensor;
mod util;
pub mod validate;
pub mod values;
pub mod view;
pub mod write;

// What `model` imports, which is compiled for both forms.
use embedded_safetensors_macros::blocking as form;

pub use dtype::Dtype;
pub use error::{Error, ErrorKind};
#[cfg(all(feature = "std", any(unix, windows)))]
pub use file::{FileModel, MappedModel};
pub use io::{ReadAt, ReadError, WriteAt, WriteError};
pub use model::Model;
pub use reader::tensor::TensorReader;
pub use shape::Shape;
pub use tensor::TensorInfo;
#[doc(hidden)]
pub use view::{Embedded as __Embedded, Link as __Link, room as __room};
pub use view::{Tensor, View};
