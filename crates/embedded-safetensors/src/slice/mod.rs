//! Slices of tensors as arithmetic: which elements they have, where those lie, what to read for them.
//!
//! ```text
//! AxisRange   what is asked for of one axis; `on` an axis of a size it becomes Steps
//! Nest        runs of neighbouring elements, repeated by loops inside loops, with gaps between them
//! SlicePlan   dtype, shape of the result and Nest: all there is to know about a slice
//! Walk        a place in a Nest, and what is left from there
//! Place       a SlicePlan in a file, and a Walk of it
//! Filling     a buffer on its way to being filled: what to read next, and what to keep of it
//! ```
//!
//! Nothing here reads, and nothing allocates. Elements are counted in 64 bits: a tensor whose elements are too many
//! for that is refused before anything is multiplied, and all else is a part of its number of elements.

pub(crate) mod plan;
pub(crate) mod range;
pub(crate) mod walk;
