//! Elements as numbers: as they lie in memory, and converted.

pub(crate) mod convert;
#[allow(unsafe_code)]
pub(crate) mod native;

pub use convert::Element;
#[doc(hidden)]
pub use native::{Align, Alignment};
pub use native::{AlignedFile, Array, C64, Native};
