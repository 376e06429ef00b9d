//! Blocks of 32 elements with one scale, and the smallest element or none.

use super::{Single, half};

/// Passes the two halves of each of 16 bytes and their indices to `element`.
#[inline(always)]
pub fn nibbles(bytes: &[u8], out: &mut [Single; 32], element: impl Fn(u8, usize) -> f32) {
    for (index, &byte) in bytes[..16].iter().enumerate() {
        out[index] = element(byte & 0xF, index).to_le_bytes();
    }
    for (index, &byte) in bytes[..16].iter().enumerate() {
        out[index + 16] = element(byte >> 4, index + 16).to_le_bytes();
    }
}

/// Returns a quantised element without the offset that makes it unsigned.
#[inline(always)]
pub fn signed(element: u8, offset: i32) -> f32 {
    (i32::from(element) - offset) as f32
}

/// Returns a sum. The first of two NaNs is kept; in a mere addition the compiler may swap the two.
#[inline(always)]
fn sum(product: f32, least: f32) -> f32 {
    if product.is_nan() { product } else { product + least }
}

/// Appends the fifth bit of an element.
#[inline(always)]
fn with_fifth(low: u8, bits: [u8; 4], index: usize) -> u8 {
    let bits = u32::from_le_bytes(bits);
    low | if bits & 1 << index == 0 { 0 } else { 1 << 4 }
}

#[inline(always)]
pub fn q4_0(block: &[u8; 18], out: &mut [Single; 32]) {
    let scale = half(block, 0);
    nibbles(&block[2..], out, |element, _| scale * signed(element, 8));
}

#[inline(always)]
pub fn q4_1(block: &[u8; 20], out: &mut [Single; 32]) {
    let (scale, least) = (half(block, 0), half(block, 2));
    nibbles(&block[4..], out, |element, _| sum(scale * f32::from(element), least));
}

#[inline(always)]
pub fn q5_0(block: &[u8; 22], out: &mut [Single; 32]) {
    let (scale, fifth) = (half(block, 0), [block[2], block[3], block[4], block[5]]);
    nibbles(&block[6..], out, |low, index| scale * signed(with_fifth(low, fifth, index), 16));
}

#[inline(always)]
pub fn q5_1(block: &[u8; 24], out: &mut [Single; 32]) {
    let (scale, least) = (half(block, 0), half(block, 2));
    let fifth = [block[4], block[5], block[6], block[7]];
    nibbles(&block[8..], out, |low, index| sum(scale * f32::from(with_fifth(low, fifth, index)), least));
}

#[inline(always)]
pub fn q8_0(block: &[u8; 34], out: &mut [Single; 32]) {
    let scale = half(block, 0);
    for (single, &element) in out.iter_mut().zip(&block[2..]) {
        *single = (f32::from(element.cast_signed()) * scale).to_le_bytes();
    }
}
