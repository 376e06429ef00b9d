//! Elements as numbers: as they lie in memory, and converted.

pub(crate) mod convert;
#[allow(unsafe_code)]
pub(crate) mod native;
