//! Blocks of 256 elements whose sub-blocks have quantised scales. The elements are unpacked to a byte each,
//! and then multiplied, in two loops that are vectorised.

use super::{Single, half};

/// The elements of a block.
type Unpacked = [u8; 256];

/// Unpacks the bits of each of 32 bytes from `SHIFT` on that `mask` keeps.
#[inline(always)]
fn bits<const SHIFT: u32>(bytes: &[u8; 32], mask: u8, out: &mut [u8; 32]) {
    for (out, &byte) in out.iter_mut().zip(bytes) {
        *out = byte >> SHIFT & mask;
    }
}

/// Unpacks four elements of 2 bits of each of 32 bytes.
#[inline(always)]
fn pairs(bytes: &[u8; 32], [first, second, third, fourth]: [&mut [u8; 32]; 4]) {
    bits::<0>(bytes, 3, first);
    bits::<2>(bytes, 3, second);
    bits::<4>(bytes, 3, third);
    bits::<6>(bytes, 3, fourth);
}

/// Unpacks 256 elements of 2 bits.
#[inline(always)]
fn all_pairs(bytes: &[u8]) -> Unpacked {
    let mut out = [0; 256];
    for (bytes, out) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut::<128>().0) {
        if let [first, second, third, fourth] = out.as_chunks_mut().0 {
            pairs(bytes, [first, second, third, fourth]);
        }
    }
    out
}

/// Unpacks 256 elements of 4 bits: the lower halves of 32 bytes, then their upper ones.
#[inline(always)]
fn all_nibbles(bytes: &[u8]) -> Unpacked {
    let mut out = [0; 256];
    for (bytes, out) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut::<64>().0) {
        if let [first, second] = out.as_chunks_mut().0 {
            bits::<0>(bytes, 0xF, first);
            bits::<4>(bytes, 0xF, second);
        }
    }
    out
}

/// Adds the bit `FROM` of each of 32 bytes to elements, as their bit `TO`.
#[inline(always)]
fn add_bit<const FROM: u32, const TO: u32>(bytes: &[u8; 32], out: &mut [u8; 32]) {
    for (out, &byte) in out.iter_mut().zip(bytes) {
        *out |= (byte >> FROM & 1) << TO;
    }
}

/// Adds a bit of each of 32 bytes to the elements: that with the index of the 32 elements.
#[inline(always)]
fn add_bits<const TO: u32>(bytes: &[u8], out: &mut Unpacked) {
    let (Some(bytes), [a, b, c, d, e, f, g, h]) = (bytes.first_chunk(), out.as_chunks_mut().0) else {
        return;
    };
    add_bit::<0, TO>(bytes, a);
    add_bit::<1, TO>(bytes, b);
    add_bit::<2, TO>(bytes, c);
    add_bit::<3, TO>(bytes, d);
    add_bit::<4, TO>(bytes, e);
    add_bit::<5, TO>(bytes, f);
    add_bit::<6, TO>(bytes, g);
    add_bit::<7, TO>(bytes, h);
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
    multiply_and_subtract::<16>(&all_pairs(&block[16..80]), factors, out);
}

#[inline(always)]
pub fn q3_k(block: &[u8; 110], out: &mut [Single; 256]) {
    let scale = half(block, 108);
    let mut elements = all_pairs(&block[32..96]);
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
    multiply_and_subtract::<32>(&all_nibbles(&block[16..]), factors, out);
}

#[inline(always)]
pub fn q5_k(block: &[u8; 176], out: &mut [Single; 256]) {
    let factors = factors(&block[4..16], half(block, 0), half(block, 2));
    let mut elements = all_nibbles(&block[48..]);
    add_bits::<4>(&block[16..48], &mut elements);
    multiply_and_subtract::<32>(&elements, factors, out);
}

#[inline(always)]
pub fn q6_k(block: &[u8; 210], out: &mut [Single; 256]) {
    let scale = half(block, 208);
    let mut elements = all_pairs(&block[128..192]);
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
