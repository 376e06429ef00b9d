#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod counted;
#[cfg(test)]
mod damaged;
pub mod error;
pub mod gguf;
mod listed;
#[cfg(test)]
mod made;
pub mod numbers;
pub mod numpy;
pub mod onnx;
mod pages;
pub mod pickle;
mod proto;
#[cfg(test)]
mod samples;
mod source;
mod strided;
pub mod tensorflow;
pub mod text;
pub mod tflite;
pub mod torch;
pub mod zip;

pub use source::{Tensor, TensorSource};
