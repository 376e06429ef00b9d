#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

pub mod error;
pub mod numbers;
pub mod numpy;
mod parallel;
mod source;
pub mod tensorflow;
pub mod text;
pub mod zip;

pub use source::{Tensor, TensorSource};
