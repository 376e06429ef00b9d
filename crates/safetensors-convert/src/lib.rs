#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod counted;
pub mod error;
pub mod gguf;
pub mod numbers;
pub mod numpy;
mod parallel;
pub mod pickle;
mod position;
#[cfg(test)]
mod samples;
mod source;
pub mod tensorflow;
pub mod text;
pub mod torch;
pub mod zip;

pub use source::{Tensor, TensorSource};
