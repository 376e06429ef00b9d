#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "embedded-io-async")]
pub mod asynch;
mod layout;
mod matrix;
mod reader;
mod row;

// Imports of the file that is compiled for both the blocking and the asynchronous form.
use embedded_safetensors::io::{read_full, read_part};
use embedded_safetensors::{Model, ReadAt};
use embedded_safetensors_macros::blocking as form;

pub use layout::Scales;
pub use matrix::Matrix;
pub use reader::QuantReader;

/// Returns how many blocks of `1 << shift` elements there are, with one that is not full.
const fn blocks(elements: u64, shift: u32) -> u64 {
    (elements >> shift) + (elements & ((1 << shift) - 1) != 0) as u64
}

/// Returns as many of the low bits of a number as a `usize` has.
#[allow(clippy::cast_possible_truncation)] // lengths of what is in memory
const fn low_usize(number: u64) -> usize {
    number as usize
}
