#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod c;
mod constants;
pub mod names;
pub mod plan;
pub mod rust;

pub use constants::Listing;
