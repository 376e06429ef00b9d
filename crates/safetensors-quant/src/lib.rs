//! Use this when the weights of a matrix are stored as integers of 8 or 4 bits, or as 4-bit floats, with
//! scales in another tensor: a [`QuantReader`] reads its rows as `f32`, or multiplies them by a vector of
//! `i8`.
//!
//! A [`Matrix`] names the tensors that belong together, by their role. [`QuantReader::new`] compares their
//! dtypes and shapes, and returns a reader only if they match.
//!
//! | layout | weights | scales | zero points |
//! |---|---|---|---|
//! | [`Matrix::q8`], a scale for the matrix | I8 or U8 `[rows, columns]` | F32, F16 or BF16 `[]` or `[1]` | dtype of the weights, shape of the scales |
//! | [`Matrix::q8`], a scale for each row | the same | the same dtypes, `[rows]` or `[rows, 1]` | the same |
//! | [`Matrix::q4`] | U8 `[rows, columns / 2]`, or I32 `[rows, columns / 8]` | the same dtypes, `[rows, columns / group]` | U8, shape of the scales |
//! | [`Matrix::mxfp4`] | F4 `[rows, columns]`, or U8 `[rows, columns / 2]` | F8_E8M0 or U8 `[rows, columns / 32]` | none |
//!
//! Values of 4 bits begin with the low half of the first byte. I32 weights are eight such values, the first
//! in the lowest bits, which are the same bytes.
//!
//! # Arithmetic
//! The results are the same bits on every target:
//!
//! * A value is `(q - z) * scale`. `q` is the stored integer and `z` the zero point. Both are exact in the
//!   difference, and the product is rounded once, to the nearest `f32`, ties to even. Without zero points,
//!   `z` is 0, or 8 for [`Matrix::q4`]. F4 values are multiplied by the scale, without a zero point.
//! * A product with a vector of `i8` adds `(q - z) * input` in integers within each group, without
//!   rounding. Then, from the first group to the last, `sum = sum + float(integer) * scale`, where the
//!   conversion, the product and the sum are rounded to `f32` each, and `sum` begins with 0. For F4, the
//!   integers are those of the doubled values, and their float is halved before the product, which is
//!   exact.
//!
//! The bits of a NaN, which only a scale can bring in, depend on the target.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "embedded-io-async")]
pub mod asynch;
mod layout;
mod matrix;
mod reader;
mod row;
mod scale;

// Imports of the file that is compiled for both the blocking and the asynchronous form.
use embedded_safetensors::io::{read_full, read_part};
use embedded_safetensors::{Model, ReadAt};
use embedded_safetensors_macros::blocking as form;

pub use layout::Scales;
pub use matrix::Matrix;
pub use reader::QuantReader;

/// Returns as many of the low bits of a number as a `usize` has.
#[allow(clippy::cast_possible_truncation)] // lengths of what is in memory
const fn low_usize(number: u64) -> usize {
    number as usize
}
