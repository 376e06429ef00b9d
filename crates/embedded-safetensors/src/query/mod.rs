//! Passes over a header: what is read of it again, and that it is the one that was validated.

#[cfg(feature = "serde-json-core")]
pub(crate) mod decode;
pub(crate) mod find;
pub(crate) mod list;
pub(crate) mod metadata;
pub(crate) mod pump;
pub(crate) mod value;
