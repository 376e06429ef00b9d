//! Reads and writes [safetensors] files on microcontrollers: `no_std`, no allocator. The header is
//! validated as it streams through a small window, and tensors are read chunk by chunk into your buffers.
//!
//! ```
//! use embedded_safetensors::{Model, ReadAt, ReadError, query::Query};
//!
//! /// Computes one layer of a network in any storage: a card, NOR flash, a file, a slice.
//! fn layer<S: ReadAt>(
//!     storage: S,
//!     input: &[f32; 64],
//!     output: &mut [f32; 400],
//! ) -> Result<(), ReadError<S::Error>> {
//!     let mut window = [0; 512]; // the header passes through it, once
//!     let mut net = [
//!         Query::required("fc1.weight").shape(&[400, 64]), // a model with another shape is an error
//!         Query::required("fc1.bias").shape(&[400]),
//!     ];
//!     let mut model = Model::open_with(storage, &mut net, &mut window)?;
//!     let [weight, bias] = &net;
//!
//!     model.reader(bias)?.values().read_exact(output)?; // as f32, from F32, F16, I8, …
//!     let mut row = [0.0; 64];
//!     let mut rows = model.reader(weight)?.rows(0..400)?;
//!     for sum in output {
//!         rows.read_exact(&mut row)?;
//!         *sum += row.iter().zip(input).map(|(weight, input)| weight * input).sum::<f32>();
//!     }
//!     Ok(())
//! }
//! ```
//!
//! [safetensors]: https://github.com/huggingface/safetensors
//!
//! # Which API?
//!
//! | your model is | use |
//! |---|---|
//! | in the program | [`include_model!`], and [`View`] in consts |
//! | in memory: mapped flash, a buffer | [`View`] |
//! | on a card, in NOR flash, on anything else that can be read at an offset | [`Model`] |
//! | received once, over a UART, a radio, HTTP | [`stream::Receiver`], [`stream::Router`] for all tensors |
//! | looked up often, or its header does not list the tensors in the order of their data | [`index::Index`] |
//! | of small integers with scales, or of MXFP4 | the crate `safetensors-quant`, with a [`Model`] |
//! | behind `async` storage | `asynch::Model`, with the feature `embedded-io-async` |
//! | a file on a computer | `FileModel` and `MappedModel`, with the feature `std` |
//! | to be written | [`write::Writer`] |
//! | to be checked for damage | [`integrity`] |
//!
//! # What holds everywhere
//!
//! - **Memory**: no recursion, and no heap except in models in files (feature `std`). The documentation of
//!   each item says how many bytes it takes; every other buffer is the caller's.
//! - **Panics**: none of its own at run time, except when an `async fn` is polled after it has completed.
//!   Lookups in consts panic at build time. A panic of your visitor passes through.
//! - **Errors**: [`ErrorKind::class`] tells a bad file, too little memory and a caller's mistake apart. Each
//!   error has a stable code and the offset of the byte where it was found.
//! - **Verdict**: a file is accepted or rejected as by the Rust crate `safetensors` 0.8.0, on every
//!   target. The guide has the complete list of exceptions.
//!
//! # Features
//!
//! No feature is on by default, and all are additive:
//!
//! | feature | adds |
//! |---|---|
//! | `embedded-io` | `io::Seekable`: storage that implements `Read + Seek`; `write::Writer` for any `Write` |
//! | `embedded-storage` | `io::NorFile`: a file in NOR flash, or in a partition of it |
//! | `embedded-io-async` | the module `asynch`, and `embedded-io` |
//! | `embedded-storage-async` | `asynch::NorFile`, and `embedded-io-async` |
//! | `half` | `f16` and `bf16` as element types |
//! | `heapless` | lists of tensors and values of metadata that own their texts, without a heap |
//! | `sha2` | `integrity::Sha256`: SHA-256 sums, and the sum in a file |
//! | `crc32` | `integrity::Crc32`: CRC-32 sums |
//! | `serde-json-core` | metadata decoded into your own types |
//! | `defmt` | `defmt::Format` for every type that has `Debug`, except those of `std` |
//! | `std` | models in files, memory maps, `std::fs::File` as storage, errors that become `io::Error` |

#![cfg_attr(docsrs, feature(doc_cfg))]
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
pub mod integrity;
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
use integrity::feed::feed;

pub use dtype::Dtype;
#[doc(inline)]
pub use error::{Error, ErrorKind};
#[cfg(all(feature = "std", any(unix, windows)))]
#[doc(inline)]
pub use file::{FileModel, MappedModel};
#[doc(inline)]
pub use io::{ReadAt, ReadError, WriteAt, WriteError};
pub use model::Model;
#[doc(inline)]
pub use reader::tensor::TensorReader;
pub use shape::Shape;
#[doc(inline)]
pub use tensor::TensorInfo;
#[doc(hidden)]
pub use view::{Embedded as __Embedded, Link as __Link, room as __room};
#[doc(inline)]
pub use view::{Tensor, View};
