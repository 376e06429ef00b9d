//! Slices of tensors as arithmetic: [`AxisRange`] selects indices of an axis, [`SlicePlan`] says which bytes of the tensor those are. A
//! [`TensorReader`](crate::TensorReader) and a [`Tensor`](crate::Tensor) take the same ranges, and read them.
//!
//! ```
//! use embedded_safetensors::{Model, ReadAt, ReadError, slice::AxisRange};
//!
//! /// The words 100 to 199 of an embedding, and of those the first 64 numbers each.
//! fn words<S: ReadAt>(model: &mut Model<S>, to: &mut [u8]) -> Result<usize, ReadError<S::Error>> {
//!     let embedding = model.find("wte", &mut [0; 512])?.ok_or(not_found())?;
//!     let mut words = model.reader(&embedding)?.slice(&[(100..200).into(), (..64).into()])?;
//!     Ok(words.read_to_end(to)?.len())
//! }
//! # use embedded_safetensors::{Error, ErrorKind};
//! # fn not_found() -> Error { ErrorKind::NotFound { query: None }.at(0) }
//! # let header = br#"{"wte":{"dtype":"U8","shape":[300,80],"data_offsets":[0,24000]}}"#;
//! # let file = [&(header.len() as u64).to_le_bytes(), &header[..], &[7; 24000]].concat();
//! # let mut model = Model::open(&file[..], &mut [0; 512])?;
//! # assert_eq!(words(&mut model, &mut [0; 6400]), Ok(6400));
//! # Ok::<(), ReadError<core::convert::Infallible>>(())
//! ```

// AxisRange   what is asked for of one axis; `on` an axis of a size it becomes Steps
// Nest        runs of neighbouring elements, repeated by loops inside loops, with gaps between them
// SlicePlan   dtype, shape of the result and Nest: all there is to know about a slice
// Walk        a place in a Nest, and what is left from there
//
// Nothing here reads, and nothing allocates. Elements are counted in 64 bits: a tensor whose elements are too many for that is refused
// before anything is multiplied, and all else is a part of its number of elements.

pub(crate) mod plan;
pub(crate) mod range;
pub(crate) mod walk;

pub use plan::SlicePlan;
pub use range::AxisRange;
pub use walk::{ByteRuns, Run, Runs};
