//! Use this when you read the `__metadata__` of a file, a map of strings: [`Metadata`] for a
//! [`Model`](crate::Model), [`MetadataView`] for a [`View`](crate::View).

#[cfg(feature = "serde-json-core")]
pub use crate::query::decode::{DecodeError, MetadataError};
pub use crate::query::metadata::{Metadata, Pair};
pub use crate::view::{Chars, JsonStr, MetadataView};
