//! Slices: the right elements in the right order, whatever is asked for, wherever the tensor lies.

mod errors;
mod limits;
mod naive;
mod random;
#[cfg(feature = "oracle")]
mod reference;
mod storage;
mod values;
