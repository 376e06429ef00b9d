//! Helpers for all modules, independent of tensors.

pub(crate) mod bytes;
pub(crate) mod escapes;
pub(crate) mod fingerprint;
pub(crate) mod heapsort;
pub(crate) mod siphash;
pub(crate) mod text;
pub(crate) mod top_k;
