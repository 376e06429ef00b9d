//! Slices: the right elements in the right order, whatever is asked for, wherever the tensor lies.

// What they mean is the very question.
#![allow(clippy::reversed_empty_ranges)]

mod errors;
mod limits;
mod random;
#[cfg(feature = "oracle")]
mod reference;
mod storage;
mod values;
