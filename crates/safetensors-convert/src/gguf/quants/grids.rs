//! Blocks of 256 elements whose groups of 8 or 4 select points of a grid.
//!
//! The points are constants of the format, which no rule produces. The tables are those of gguf-py (MIT
//! licence), and `tests/python/test_gguf.py` compares what becomes of random blocks with gguf-py.

use super::{Single, half, half_of};

/// The points of each grid: for 8 elements 2 bits each, for 4 elements 4 bits each.
struct Grid<const BYTES: usize>([u8; BYTES]);

static IQ2_XXS: Grid<512> = Grid(*include_bytes!("grids/iq2_xxs.bin"));
static IQ2_XS: Grid<1024> = Grid(*include_bytes!("grids/iq2_xs.bin"));
static IQ2_S: Grid<2048> = Grid(*include_bytes!("grids/iq2_s.bin"));
static IQ3_XXS: Grid<512> = Grid(*include_bytes!("grids/iq3_xxs.bin"));
static IQ3_S: Grid<1024> = Grid(*include_bytes!("grids/iq3_s.bin"));
static IQ1_S: Grid<4096> = Grid(*include_bytes!("grids/iq1_s.bin"));

/// The numbers that the bits of a point select.
const OF_IQ2: [f32; 4] = [8.0, 25.0, 43.0, 0.0];
const OF_IQ3_XXS: [f32; 8] = [4.0, 12.0, 20.0, 28.0, 36.0, 44.0, 52.0, 62.0];
const OF_IQ3_S: [f32; 8] = [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0];
const OF_IQ1: [f32; 4] = [-1.0, 0.0, 1.0, 0.0];

impl<const BYTES: usize> Grid<BYTES> {
    /// Returns the bits of a point; indices have as many bits as the grid needs.
    #[inline(always)]
    fn point(&self, index: u16) -> u16 {
        let at = usize::from(index) * 2 % BYTES;
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }
}

#[inline(always)]
fn u16_at(block: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([block[at], block[at + 1]])
}

#[inline(always)]
fn u32_at(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

/// Returns the lower bits of a number, which has no others.
#[inline(always)]
fn low(bits: u32) -> u8 {
    bits.to_le_bytes()[0]
}

/// Returns the signs of 8 elements. The last sign makes their number even.
#[inline(always)]
fn even(bits: u8) -> u8 {
    bits | if bits.count_ones() % 2 == 1 { 0x80 } else { 0 }
}

/// Returns the product with 1 or -1, which keeps NaNs; a mere multiplication would be compiled to a negation.
#[inline(always)]
fn with_sign(float: f32, signs: u8, index: usize) -> f32 {
    let sign = u32::from(signs >> index & 1) << 31;
    f32::from_bits(float.to_bits() ^ if float.is_nan() { 0 } else { sign })
}

#[inline(always)]
fn eight(out: &mut [Single; 8], scale: f32, point: u16, signs: u8) {
    for (index, single) in out.iter_mut().enumerate() {
        *single =
            with_sign(scale * OF_IQ2[usize::from(point >> (2 * index) & 3)], signs, index).to_le_bytes();
    }
}

/// Makes 8 elements of two points.
#[inline(always)]
fn two_fours(out: &mut [Single; 8], scale: f32, numbers: &[f32; 8], points: [u16; 2], signs: u8) {
    for (index, single) in out.iter_mut().enumerate() {
        let bits = points[index / 4] >> (index % 4 * 4);
        *single = with_sign(scale * numbers[usize::from(bits & 7)], signs, index).to_le_bytes();
    }
}

#[inline(always)]
fn nibble(bytes: &[u8], index: usize) -> u8 {
    bytes[index / 2] >> (index % 2 * 4) & 0xF
}

#[inline(always)]
pub fn iq2_xxs(block: &[u8; 66], out: &mut [Single; 256]) {
    let scale = half(block, 0);
    for (group, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let (at, in_sub) = (2 + group / 4 * 8, group % 4);
        let bits = u32_at(block, at + 4);
        let scale = scale * (0.5 + f32::from(low(bits >> 28))) * 0.25;
        let point = IQ2_XXS.point(u16::from(block[at + in_sub]));
        eight(out, scale, point, even(low(bits >> (7 * in_sub) & 0x7F)));
    }
}

#[inline(always)]
pub fn iq2_xs(block: &[u8; 74], out: &mut [Single; 256]) {
    let scale = half(block, 0);
    for (group, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let bits = u16_at(block, 2 + group * 2);
        let scale = scale * (0.5 + f32::from(nibble(&block[66..], group / 2))) * 0.25;
        eight(out, scale, IQ2_XS.point(bits & 511), even(low(u32::from(bits >> 9))));
    }
}

#[inline(always)]
pub fn iq2_s(block: &[u8; 82], out: &mut [Single; 256]) {
    let scale = half(block, 0);
    for (group, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let high = u16::from(block[66 + group / 4] >> (group % 4 * 2) & 3) << 8;
        let scale = scale * (0.5 + f32::from(nibble(&block[74..], group / 2))) * 0.25;
        eight(out, scale, IQ2_S.point(u16::from(block[2 + group]) | high), block[34 + group]);
    }
}

#[inline(always)]
pub fn iq3_xxs(block: &[u8; 98], out: &mut [Single; 256]) {
    let scale = half(block, 0);
    for (group, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let bits = u32_at(block, 66 + group / 4 * 4);
        let scale = scale * (0.5 + f32::from(low(bits >> 28))) * 0.5;
        let points = [0, 1].map(|half| IQ3_XXS.point(u16::from(block[2 + group * 2 + half])));
        let signs = even(low(bits >> (group % 4 * 7) & 0x7F));
        two_fours(out, scale, &OF_IQ3_XXS, points, signs);
    }
}

#[inline(always)]
pub fn iq3_s(block: &[u8; 110], out: &mut [Single; 256]) {
    let scale = half(block, 0);
    for (group, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let scale = scale * f32::from(1 + 2 * nibble(&block[106..], group / 4));
        let points = [0, 1].map(|half| {
            let index = group * 2 + half;
            let high = u16::from(block[66 + index / 8] >> (index % 8) & 1) << 8;
            IQ3_S.point(u16::from(block[2 + index]) | high)
        });
        two_fours(out, scale, &OF_IQ3_S, points, block[74 + group]);
    }
}

#[inline(always)]
fn shifted(out: &mut [Single; 8], scale: f32, index: u16, is_minus: bool) {
    let (point, shift) = (IQ1_S.point(index), if is_minus { -0.125 } else { 0.125 });
    for (index, single) in out.iter_mut().enumerate() {
        *single = (scale * (OF_IQ1[usize::from(point >> (2 * index) & 3)] + shift)).to_le_bytes();
    }
}

#[inline(always)]
pub fn iq1_s(block: &[u8; 50], out: &mut [Single; 256]) {
    let scale = half(block, 0);
    for (group, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let bits = u16_at(block, 34 + group / 4 * 2);
        let scale = scale * f32::from(2 * (bits >> 12 & 7) + 1);
        let index = u16::from(block[2 + group]) | (bits >> (group % 4 * 3) & 7) << 8;
        shifted(out, scale, index, bits & 0x8000 != 0);
    }
}

#[inline(always)]
pub fn iq1_m(block: &[u8; 56], out: &mut [Single; 256]) {
    let scales = [48, 50, 52, 54].map(|at| u16_at(block, at));
    // Each of the four has 4 bits of the scale of the block, and the 3 bits of four scales.
    let bits = scales.iter().rev().fold(0, |bits, scales| bits << 4 | scales >> 12);
    let scale = half_of(bits);
    for (group, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let sub = group / 2;
        let scale = scale * f32::from(2 * (scales[sub / 4] >> (sub % 4 * 3) & 7) + 1);
        let bits = nibble(&block[32..48], group);
        shifted(out, scale, u16::from(block[group]) | u16::from(bits & 7) << 8, bits & 8 != 0);
    }
}
