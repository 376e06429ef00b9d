//! A tensor read from storage: bytes, values, rows and slices.

pub(crate) mod cursor;
pub(crate) mod fill;
pub(crate) mod filling;
pub(crate) mod place;
pub(crate) mod rows;
pub(crate) mod slice;
pub(crate) mod slice_place;
pub(crate) mod tensor;
pub(crate) mod values;
