//! What a tensor is, and where it lies.

pub(crate) mod info;
pub(crate) mod location;
pub(crate) mod span;
