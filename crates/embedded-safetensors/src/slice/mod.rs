//! Use this when you read part of a tensor along several axes: an [`AxisRange`] selects indices of one
//! axis, and readers take one for each axis ([`TensorReader::slice`](crate::TensorReader::slice),
//! [`Tensor`](crate::Tensor)).
//!
//! A [`SlicePlan`] computes which bytes of the tensor these are, for example for a DMA engine. It reads
//! nothing.
//!
//! ```
//! use embedded_safetensors::{Model, ReadAt, ReadError, slice::AxisRange};
//!
//! /// Reads the words 100 to 199 of an embedding, the first 64 numbers of each.
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

// AxisRange   the selection on one axis; `on` an axis of a size it becomes Steps
// Nest        runs of contiguous elements, repeated by nested loops, with gaps between them
// SlicePlan   dtype, shape of the result and Nest: the complete description of a slice
// Walk        a position in a Nest, and what is left from there
//
// Nothing here reads or allocates. Elements are counted in 64 bits. A tensor with more elements is rejected
// before anything is multiplied, and every other number is at most the number of elements.

pub(crate) mod plan;
pub(crate) mod range;
pub(crate) mod walk;

pub use plan::SlicePlan;
pub use range::AxisRange;
pub use walk::{ByteRuns, Run, Runs};
