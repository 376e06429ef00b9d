//! Lookups in a header that is not kept in memory: what is read of it again, and that it is still the one
//! that was validated.

#[cfg(feature = "serde-json-core")]
pub(crate) mod decode;
pub(crate) mod find;
pub(crate) mod list;
pub(crate) mod metadata;
pub(crate) mod pump;
pub(crate) mod value;

pub use find::Query;
