//! Use this when you look up tensors by name in storage: a [`Query`] names a tensor, and holds the result
//! of [`Model::find_all`](crate::Model::find_all) or [`Model::open_with`](crate::Model::open_with).
//!
//! The header is not kept in memory. Each lookup reads it again, and validates that it has not changed.

#[cfg(feature = "serde-json-core")]
pub(crate) mod decode;
pub(crate) mod find;
pub(crate) mod list;
pub(crate) mod metadata;
#[cfg(feature = "heapless")]
pub(crate) mod owned;
pub(crate) mod pump;
pub(crate) mod value;

pub use find::Query;
#[cfg(feature = "heapless")]
pub use owned::NamedTensor;
