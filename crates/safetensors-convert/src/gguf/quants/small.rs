//! Blocks of ternary elements, and of elements of 4 bits that select a number from a table.

use super::legacy::{nibbles, signed, write};
use super::{Single, half, half_of};

/// The numbers that elements of IQ4_NL and IQ4_XS select.
const UNEVEN: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
/// Twice the numbers that out of 4 bits have.
const FLOATS: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

#[inline(always)]
fn selected(table: &[i8; 16], element: u8) -> f32 {
    f32::from(table[usize::from(element & 0xF)])
}

#[inline(always)]
pub fn iq4_nl(block: &[u8; 18], out: &mut [Single; 32]) {
    let scale = half(block, 0);
    write(nibbles(&block[2..]), out, |element| scale * selected(&UNEVEN, element));
}

#[inline(always)]
pub fn iq4_xs(block: &[u8; 136], out: &mut [Single; 256]) {
    let (scale, upper) = (half(block, 0), u16::from_le_bytes([block[2], block[3]]));
    for (sub, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let low = block[4 + sub / 2] >> (sub % 2 * 4) & 0xF;
        let [high, _] = (upper >> (2 * sub) & 3).to_le_bytes();
        let factor = scale * signed(low | high << 4, 32);
        write(nibbles(&block[8 + sub * 16..]), out, |element| factor * selected(&UNEVEN, element));
    }
}

#[inline(always)]
pub fn tq2_0(block: &[u8; 66], out: &mut [Single; 256]) {
    let scale = half(block, 64);
    for (sub, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (at, shift) = (sub / 4 * 32, sub % 4 * 2);
        for (single, &byte) in out.iter_mut().zip(&block[at..at + 32]) {
            *single = (scale * signed(byte >> shift & 3, 1)).to_le_bytes();
        }
    }
}

/// Five elements to a byte: the digits of a fraction in the ternary system.
#[inline(always)]
pub fn tq1_0(block: &[u8; 54], out: &mut [Single; 256]) {
    let scale = half(block, 52);
    let mut left = out.as_mut_slice();
    for (bytes, digits) in [(&block[..32], 5), (&block[32..48], 5), (&block[48..52], 4)] {
        let mut power = 1u8;
        for _ in 0..digits {
            let (out, rest) = left.split_at_mut(bytes.len());
            for (single, &byte) in out.iter_mut().zip(bytes) {
                let [_, digit] = (u16::from(byte.wrapping_mul(power)) * 3).to_le_bytes();
                *single = (scale * signed(digit, 1)).to_le_bytes();
            }
            (left, power) = (rest, power.wrapping_mul(3));
        }
    }
}

#[inline(always)]
pub fn mxfp4(block: &[u8; 17], out: &mut [Single; 32]) {
    // Half a power of two; the two smallest ones are subnormal.
    let exponent = u32::from(block[0]);
    let scale = f32::from_bits(if exponent < 2 { 0x0020_0000 << exponent } else { (exponent - 1) << 23 });
    write(nibbles(&block[1..]), out, |element| scale * selected(&FLOATS, element));
}

/// Returns half the value of a float of 8 bits with 4 bits of exponent, whose sign is ignored.
#[inline(always)]
fn half_of_e4m3(bits: u8) -> f32 {
    // Its exponent is that of an F16 with another bias.
    let magnitude = half_of(u16::from(bits & 0x7F) << 7) * 128.0;
    if bits == 0x7F { 0.0 } else { magnitude }
}

#[inline(always)]
pub fn nvfp4(block: &[u8; 36], out: &mut [Single; 64]) {
    for (sub, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let (scale, at) = (half_of_e4m3(block[sub]), 4 + sub * 8);
        for (index, &byte) in block[at..at + 8].iter().enumerate() {
            out[index] = (scale * selected(&FLOATS, byte)).to_le_bytes();
            out[index + 8] = (scale * selected(&FLOATS, byte >> 4)).to_le_bytes();
        }
    }
}
