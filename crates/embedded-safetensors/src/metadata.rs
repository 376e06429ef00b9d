//! `__metadata__`, whose pairs of strings a file can hold beside its tensors.

#[cfg(feature = "serde-json-core")]
pub use crate::query::decode::{DecodeError, MetadataError};
pub use crate::query::metadata::{Metadata, Pair};
pub use crate::view::{Chars, JsonStr, MetadataView};
