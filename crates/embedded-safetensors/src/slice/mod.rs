//! Use this when you read part of a tensor along several axes: an [`AxisRange`] selects indices of one
//! axis, and readers take one for each axis ([`TensorReader::slice`](crate::TensorReader::slice),
//! [`Tensor`](crate::Tensor)).
//!
//! A [`SlicePlan`] computes which bytes of the tensor these are, for example for a DMA engine. It reads
//! nothing.

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
