//! Blocks of 32 elements with one scale, and the smallest element or none.

use super::{Single, half};

/// Returns the lower halves of 16 bytes, then their upper ones.
#[inline(always)]
pub fn nibbles(bytes: &[u8]) -> [u8; 32] {
    let mut elements = [0; 32];
    let (low, high) = elements.split_at_mut(16);
    for ((low, high), byte) in low.iter_mut().zip(high).zip(bytes) {
        (*low, *high) = (byte & 0xF, byte >> 4);
    }
    elements
}

/// Returns elements of 5 bits: the fifth bits are in four bytes.
#[inline(always)]
fn fives(fifth: &[u8], bytes: &[u8]) -> [u8; 32] {
    let mut elements = nibbles(bytes);
    for (elements, bits) in elements.as_chunks_mut::<8>().0.iter_mut().zip(fifth) {
        for (index, element) in elements.iter_mut().enumerate() {
            *element |= (bits >> index & 1) << 4;
        }
    }
    elements
}

/// Returns a quantised element without the offset that makes it unsigned.
#[inline(always)]
pub fn signed(element: u8, offset: i32) -> f32 {
    (i32::from(element) - offset) as f32
}

/// Writes what the elements become.
#[inline(always)]
pub fn write(elements: [u8; 32], out: &mut [Single; 32], float: impl Fn(u8) -> f32) {
    for (single, element) in out.iter_mut().zip(elements) {
        *single = float(element).to_le_bytes();
    }
}

/// Returns a sum. The first of two NaNs is kept; in a mere addition the compiler may swap the two.
#[inline(always)]
fn sum(product: f32, least: f32) -> f32 {
    if product.is_nan() { product } else { product + least }
}

#[inline(always)]
pub fn q4_0(block: &[u8; 18], out: &mut [Single; 32]) {
    let scale = half(block, 0);
    write(nibbles(&block[2..]), out, |element| scale * signed(element, 8));
}

#[inline(always)]
pub fn q4_1(block: &[u8; 20], out: &mut [Single; 32]) {
    let (scale, least) = (half(block, 0), half(block, 2));
    write(nibbles(&block[4..]), out, |element| sum(scale * f32::from(element), least));
}

#[inline(always)]
pub fn q5_0(block: &[u8; 22], out: &mut [Single; 32]) {
    let scale = half(block, 0);
    write(fives(&block[2..6], &block[6..]), out, |element| scale * signed(element, 16));
}

#[inline(always)]
pub fn q5_1(block: &[u8; 24], out: &mut [Single; 32]) {
    let (scale, least) = (half(block, 0), half(block, 2));
    write(fives(&block[4..8], &block[8..]), out, |element| sum(scale * f32::from(element), least));
}

#[inline(always)]
pub fn q8_0(block: &[u8; 34], out: &mut [Single; 32]) {
    let scale = half(block, 0);
    for (single, &element) in out.iter_mut().zip(&block[2..]) {
        *single = (f32::from(element.cast_signed()) * scale).to_le_bytes();
    }
}
