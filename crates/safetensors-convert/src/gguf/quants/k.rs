//! Blocks of 256 elements whose sub-blocks have quantised scales.

use super::half;
use super::legacy::signed;

#[inline(always)]
pub fn q2_k(block: &[u8; 84], floats: &mut [f32; 256]) {
    let (scale, least) = (half(block, 80), half(block, 82));
    for (sub, floats) in floats.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let factor = scale * f32::from(block[sub] & 0xF);
        let offset = least * f32::from(block[sub] >> 4);
        // Each of the four pairs of sub-blocks in a half of the block has two bits of each of 32 bytes.
        let (at, shift) = (16 + sub / 8 * 32 + sub % 2 * 16, sub % 8 / 2 * 2);
        for (float, &byte) in floats.iter_mut().zip(&block[at..at + 16]) {
            *float = factor * f32::from(byte >> shift & 3) - offset;
        }
    }
}

#[inline(always)]
pub fn q3_k(block: &[u8; 110], floats: &mut [f32; 256]) {
    let scale = half(block, 108);
    for (sub, floats) in floats.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let low = block[96 + sub % 8] >> (sub / 8 * 4) & 0xF;
        let high = block[104 + sub % 4] >> (sub / 4 * 2) & 3;
        let factor = scale * signed(low | high << 4, 32);
        let (at, shift) = (32 + sub / 8 * 32 + sub % 2 * 16, sub % 8 / 2 * 2);
        let (mask_at, bit) = (sub % 2 * 16, sub / 2);
        let bytes = block[at..at + 16].iter().zip(&block[mask_at..mask_at + 16]);
        for (float, (&byte, &mask)) in floats.iter_mut().zip(bytes) {
            // The bit of the mask is set if nothing is to be subtracted.
            *float = factor * signed(byte >> shift & 3 | (mask >> bit & 1) << 2, 4);
        }
    }
}

/// Returns the scale and the offset of a sub-block, of 6 bits each, from the 12 bytes that eight sub-blocks
/// share.
#[inline(always)]
fn scale_and_offset(packed: &[u8], sub: usize) -> (u8, u8) {
    let index = sub % 4;
    let (scale, offset, low) = (packed[index], packed[index + 4], packed[index + 8]);
    if sub < 4 {
        (scale & 0x3F, offset & 0x3F)
    } else {
        (low & 0xF | scale >> 2 & 0x30, low >> 4 | offset >> 2 & 0x30)
    }
}

#[inline(always)]
pub fn q4_k(block: &[u8; 144], floats: &mut [f32; 256]) {
    let (scale, least) = (half(block, 0), half(block, 2));
    for (sub, floats) in floats.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (factor, offset) = scale_and_offset(&block[4..16], sub);
        let (factor, offset) = (scale * f32::from(factor), least * f32::from(offset));
        let (at, shift) = (16 + sub / 2 * 32, sub % 2 * 4);
        for (float, &byte) in floats.iter_mut().zip(&block[at..at + 32]) {
            *float = factor * f32::from(byte >> shift & 0xF) - offset;
        }
    }
}

#[inline(always)]
pub fn q5_k(block: &[u8; 176], floats: &mut [f32; 256]) {
    let (scale, least) = (half(block, 0), half(block, 2));
    for (sub, floats) in floats.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (factor, offset) = scale_and_offset(&block[4..16], sub);
        let (factor, offset) = (scale * f32::from(factor), least * f32::from(offset));
        let (at, shift) = (48 + sub / 2 * 32, sub % 2 * 4);
        let bytes = block[at..at + 32].iter().zip(&block[16..48]);
        for (float, (&byte, &fifth)) in floats.iter_mut().zip(bytes) {
            *float = factor * f32::from(byte >> shift & 0xF | (fifth >> sub & 1) << 4) - offset;
        }
    }
}

#[inline(always)]
pub fn q6_k(block: &[u8; 210], floats: &mut [f32; 256]) {
    let scale = half(block, 208);
    for (sub, floats) in floats.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let factor = scale * f32::from(block[192 + sub].cast_signed());
        // In a half of the block, four sub-blocks have the lower halves of 64 bytes, four the upper ones.
        let (half_at, in_half) = (sub / 8, sub % 8);
        let (low_at, low_shift) = (half_at * 64 + in_half % 4 * 16, in_half / 4 * 4);
        let (high_at, high_shift) = (128 + half_at * 32 + in_half % 2 * 16, in_half / 2 * 2);
        let bytes = block[low_at..low_at + 16].iter().zip(&block[high_at..high_at + 16]);
        for (float, (&low, &high)) in floats.iter_mut().zip(bytes) {
            *float = factor * signed(low >> low_shift & 0xF | (high >> high_shift & 3) << 4, 32);
        }
    }
}
