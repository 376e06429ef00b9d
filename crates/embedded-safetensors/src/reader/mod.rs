//! A tensor read from storage as values: all of it, by rows, or a slice. The bytes are those of a
//! [`TensorReader`](crate::TensorReader), from which these are made.

pub(crate) mod cursor;
pub(crate) mod fill;
pub(crate) mod filling;
pub(crate) mod place;
pub(crate) mod rows;
pub(crate) mod slice;
pub(crate) mod slice_place;
pub(crate) mod tensor;
pub(crate) mod values;

pub use rows::Rows;
pub use slice::SliceReader;
pub use values::ElementReader;
