//! Work on the values of tensors.

pub mod compare;
pub mod delta;
pub mod merge;
pub mod quant;
pub mod repair;
pub mod slice;
pub mod stats;
pub mod sums;
pub mod values;
