//! What a tensor is, and where it lies.

pub(crate) mod info;
pub(crate) mod location;
pub(crate) mod span;

pub use crate::shape::{MAX_RANK, Strides};
pub use info::TensorInfo;
pub use location::{Located, Location};
