//! Blocks of 256 elements whose sub-blocks have quantised scales. The elements are unpacked to a byte each,
//! and then multiplied, in two loops that are vectorised.

use super::{Single, half};

/// The elements of a block.
type Unpacked = [u8; 256];

/// Unpacks 256 elements of `WIDTH` bits: the lowest ones of 32 bytes, then the next ones, and so on.
#[inline(always)]
fn unpack<const WIDTH: usize>(bytes: &[u8]) -> Unpacked {
    let mut out = [0; 256];
    for (index, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (from, shift) = (index * WIDTH / 8 * 32, index * WIDTH % 8);
        for (out, &byte) in out.iter_mut().zip(&bytes[from..from + 32]) {
            *out = byte >> shift & (0xFF >> (8 - WIDTH));
        }
    }
    out
}

/// Adds a bit of each of 32 bytes to the elements, as their bit `TO`: that with the index of the 32 elements.
#[inline(always)]
fn add_bits<const TO: u32>(bytes: &[u8], out: &mut Unpacked) {
    for (bit, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        for (out, &byte) in out.iter_mut().zip(&bytes[..32]) {
            *out |= (byte >> bit & 1) << TO;
        }
    }
}

/// Writes the products of signed elements with the factor of their sub-block.
#[inline(always)]
fn multiply(elements: &Unpacked, factors: [f32; 16], out: &mut [Single; 256]) {
    let subs = elements.as_chunks::<16>().0.iter().zip(out.as_chunks_mut::<16>().0);
    for ((elements, out), factor) in subs.zip(factors) {
        // As for blocks, a copy cannot overlap the output.
        let elements = *elements;
        for (single, element) in out.iter_mut().zip(&elements) {
            *single = (factor * f32::from(element.cast_signed())).to_le_bytes();
        }
    }
}

/// Writes the products of elements with the factor of their sub-block, minus its offset.
#[inline(always)]
fn multiply_and_subtract<const SUB: usize>(
    elements: &Unpacked,
    factors: impl Iterator<Item = [f32; 2]>,
    out: &mut [Single; 256],
) {
    let subs = elements.as_chunks::<SUB>().0.iter().zip(out.as_chunks_mut::<SUB>().0);
    for ((elements, out), [factor, offset]) in subs.zip(factors) {
        let elements = *elements;
        for (single, &element) in out.iter_mut().zip(&elements) {
            *single = (factor * f32::from(element) - offset).to_le_bytes();
        }
    }
}

#[inline(always)]
pub fn q2_k(block: &[u8; 84], out: &mut [Single; 256]) {
    let (scale, least) = (half(block, 80), half(block, 82));
    let factors = block[..16].iter();
    let factors = factors.map(|byte| [scale * f32::from(byte & 0xF), least * f32::from(byte >> 4)]);
    multiply_and_subtract::<16>(&unpack::<2>(&block[16..80]), factors, out);
}

#[inline(always)]
pub fn q3_k(block: &[u8; 110], out: &mut [Single; 256]) {
    let scale = half(block, 108);
    let mut elements = unpack::<2>(&block[32..96]);
    add_bits::<2>(block, &mut elements);
    elements.iter_mut().for_each(|element| *element = element.wrapping_sub(4));
    let factors = std::array::from_fn(|sub| {
        let low = block[96 + sub % 8] >> (sub / 8 * 4) & 0xF;
        let high = block[104 + sub % 4] >> (sub / 4 * 2) & 3;
        scale * (f32::from(low | high << 4) - 32.0)
    });
    multiply(&elements, factors, out);
}

/// Returns the scales and the offsets of eight sub-blocks, of 6 bits each, as factors.
#[inline(always)]
fn factors(packed: &[u8], scale: f32, least: f32) -> impl Iterator<Item = [f32; 2]> {
    (0..8).map(move |sub| {
        let (first, second, third) = (packed[sub % 4], packed[sub % 4 + 4], packed[sub % 4 + 8]);
        let (factor, offset) = if sub < 4 {
            (first & 0x3F, second & 0x3F)
        } else {
            (third & 0xF | first >> 2 & 0x30, third >> 4 | second >> 2 & 0x30)
        };
        [scale * f32::from(factor), least * f32::from(offset)]
    })
}

#[inline(always)]
pub fn q4_k(block: &[u8; 144], out: &mut [Single; 256]) {
    let factors = factors(&block[4..16], half(block, 0), half(block, 2));
    multiply_and_subtract::<32>(&unpack::<4>(&block[16..]), factors, out);
}

#[inline(always)]
pub fn q5_k(block: &[u8; 176], out: &mut [Single; 256]) {
    let factors = factors(&block[4..16], half(block, 0), half(block, 2));
    let mut elements = unpack::<4>(&block[48..]);
    add_bits::<4>(&block[16..48], &mut elements);
    multiply_and_subtract::<32>(&elements, factors, out);
}

#[inline(always)]
pub fn q6_k(block: &[u8; 210], out: &mut [Single; 256]) {
    let scale = half(block, 208);
    let mut elements = unpack::<2>(&block[128..192]);
    // A half of the block has the lower halves of 64 bytes, then their upper ones.
    for (bytes, elements) in block[..128].as_chunks::<64>().0.iter().zip(elements.as_chunks_mut::<128>().0) {
        let (first, second) = elements.split_at_mut(64);
        for ((first, second), byte) in first.iter_mut().zip(second).zip(bytes) {
            *first = (*first << 4 | byte & 0xF).wrapping_sub(32);
            *second = (*second << 4 | byte >> 4).wrapping_sub(32);
        }
    }
    let factors = std::array::from_fn(|sub| scale * f32::from(block[192 + sub].cast_signed()));
    multiply(&elements, factors, out);
}
