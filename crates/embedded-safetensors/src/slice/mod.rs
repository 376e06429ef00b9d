//! Slices of tensors as arithmetic: [`AxisRange`] selects indices of an axis, [`SlicePlan`] says which bytes of the tensor those are. A
//! [`TensorReader`](crate::TensorReader) and a [`Tensor`](crate::Tensor) take the same ranges, and read them.

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
