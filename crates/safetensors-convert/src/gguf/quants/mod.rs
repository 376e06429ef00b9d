//! Quantised blocks as floats, in the loops that the compiler vectorises.
//!
//! Each function does the operations of gguf-py in the same order, each rounded to F32, so that all bits are
//! the same. For NaNs this holds on processors with the same rules, since the operations choose their bits.

mod grids;
mod k;
mod legacy;
mod small;

use super::Kind;
use crate::numbers::wide;

/// Whether gguf-py makes floats of this type.
pub fn is_supported(kind: Kind) -> bool {
    kind.dtype().is_none() && !matches!(kind, Kind::Q8_1 | Kind::Q8_K | Kind::Q1_0)
}

/// The bytes of an F32.
type Single = [u8; 4];

/// Makes the elements of all blocks with a function for one block. This is a macro so that the function is
/// called by its name and inlined: otherwise it is not compiled for wide vectors.
macro_rules! each {
    ($blocks:ident, $out:ident, $one:path) => {
        wide::run(
            #[inline(always)]
            || {
                for (block, out) in $blocks.as_chunks().0.iter().zip($out.as_chunks_mut().0) {
                    // A copy cannot overlap the output, which the compiler must know to vectorise.
                    let block = *block;
                    $one(&block, out);
                }
            },
        )
    };
}

/// Makes the bytes of F32 of whole blocks. Both slices must have as many blocks.
pub fn dequantise(kind: Kind, blocks: &[u8], out: &mut [u8]) {
    let out = out.as_chunks_mut().0;
    match kind {
        Kind::Q4_0 => each!(blocks, out, legacy::q4_0),
        Kind::Q4_1 => each!(blocks, out, legacy::q4_1),
        Kind::Q5_0 => each!(blocks, out, legacy::q5_0),
        Kind::Q5_1 => each!(blocks, out, legacy::q5_1),
        Kind::Q8_0 => each!(blocks, out, legacy::q8_0),
        Kind::Q2_K => each!(blocks, out, k::q2_k),
        Kind::Q3_K => each!(blocks, out, k::q3_k),
        Kind::Q4_K => each!(blocks, out, k::q4_k),
        Kind::Q5_K => each!(blocks, out, k::q5_k),
        Kind::Q6_K => each!(blocks, out, k::q6_k),
        Kind::IQ4_NL => each!(blocks, out, small::iq4_nl),
        Kind::IQ4_XS => each!(blocks, out, small::iq4_xs),
        Kind::TQ1_0 => each!(blocks, out, small::tq1_0),
        Kind::TQ2_0 => each!(blocks, out, small::tq2_0),
        Kind::MXFP4 => each!(blocks, out, small::mxfp4),
        Kind::NVFP4 => each!(blocks, out, small::nvfp4),
        Kind::IQ2_XXS => each!(blocks, out, grids::iq2_xxs),
        Kind::IQ2_XS => each!(blocks, out, grids::iq2_xs),
        Kind::IQ2_S => each!(blocks, out, grids::iq2_s),
        Kind::IQ3_XXS => each!(blocks, out, grids::iq3_xxs),
        Kind::IQ3_S => each!(blocks, out, grids::iq3_s),
        Kind::IQ1_S => each!(blocks, out, grids::iq1_s),
        Kind::IQ1_M => each!(blocks, out, grids::iq1_m),
        // Rejected when the file is opened.
        _ => debug_assert!(!is_supported(kind)),
    }
}

/// Returns the F16 at an offset of a block.
#[inline(always)]
fn half<const BYTES: usize>(block: &[u8; BYTES], at: usize) -> f32 {
    half_of(u16::from_le_bytes([block[at], block[at + 1]]))
}

/// Returns the value of an F16. NaNs keep their bits.
#[inline(always)]
fn half_of(bits: u16) -> f32 {
    let (sign, magnitude) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7FFF) << 13);
    // As the exponent of an F32, that of an F16 is too small by 112. Infinities and NaNs have 31.
    let scaled = (f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23)).to_bits();
    let is_special = magnitude >= 31 << 23;
    f32::from_bits(sign | if is_special { magnitude | 255 << 23 } else { scaled })
}
