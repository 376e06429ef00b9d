//! Slices: the right elements in the right order, for any ranges and any offset of the tensor.

// Their meaning is under test.
#![allow(clippy::reversed_empty_ranges)]

mod errors;
mod limits;
mod random;
#[cfg(feature = "oracle")]
mod reference;
mod storage;
mod values;
