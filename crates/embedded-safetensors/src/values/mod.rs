//! Use this when you choose the Rust type of elements: [`Element`] for types that values are converted to,
//! [`Native`] and [`Array`] for data that is borrowed in place.

pub(crate) mod convert;
pub mod dtypes;
#[allow(unsafe_code)]
pub(crate) mod native;

pub use convert::Element;
#[doc(hidden)]
pub use native::{Align, Alignment};
pub use native::{AlignedFile, Array, C64, Native, bytes_of_mut};
