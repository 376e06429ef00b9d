#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod counted;
pub mod error;
pub mod gguf;
#[cfg(test)]
mod noise;
pub mod numbers;
pub mod numpy;
mod parallel;
pub mod pickle;
mod position;
mod source;
pub mod tensorflow;
pub mod text;
pub mod torch;
pub mod zip;

pub use source::{Tensor, TensorSource};
