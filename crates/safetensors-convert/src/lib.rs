#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod numbers;
pub mod numpy;
mod parallel;
pub mod text;
