//! The types that elements are read as.

use crate::dtype::Dtype;
use crate::values::native::{Native, groups};

/// A type that elements of a tensor can be read as, whatever dtype they have: `f32` and `f64`, the integers of
/// 8 to 64 bits, and with the feature `half` its `f16` and `bf16`.
///
/// | type | without loss from | rounded from, besides |
/// |---|---|---|
/// | `f32` | F32, F16, BF16, all of F8, F6 and F4, I8, U8, I16, U16, BOOL, C64 | F64, I32, U32, I64, U64 |
/// | `f64` | F64, I32, U32, and what `f32` is | I64, U64 |
/// | an integer | BOOL, and the integers whose values it has | |
/// | `f16`, `bf16` | itself | |
///
/// *Without loss* means: every value of the dtype is one of the type. Zeros, infinities and NaNs keep their sign,
/// NaNs their payload too, and a signalling NaN stays one; subnormal numbers are exact. Where the dtype has no payloads
/// (F8_E4M3, F8_E8M0 and the FNUZ pair) its NaN becomes the quiet one without a payload, negative where its highest
/// bit is a set sign, as that of the FNUZ pair always is. *Rounded* means: to the nearest value, of two as near ones
/// to the even one, and beyond the largest to infinity; of a NaN's payload the upper bits stay, and it becomes
/// quiet.
///
/// BOOL is 0 for the byte 0 and 1 for every other one. C64 is read as F32, the real part first: twice as many
/// elements. F8_E8M0 is a power of two, from 2⁻¹²⁷ for 0 to 2¹²⁷ for 254.
///
/// # Packing
/// The format says how many bits F4 and F6 elements have, and not where in the bytes they are. Nor does the
/// specification of microscaling formats (OCP MX 1.0) that defines the bits of one element: "The layout of the block in
/// physical memory is not prescribed". Here both are a stream of bits, the lowest bit of each byte first:
///
/// * F4: the first of two elements is in the low four bits of the byte, as PyTorch's `float4_e2m1fn_x2`
///   (`torch/headeronly/util/Float4_e2m1fn_x2.h`: "val1 : val0" from bit 7 to bit 0) and ONNX have it.
/// * F6: element `i` is at bits 6`i` to 6`i` + 5, four elements to three bytes, as ONNX has it ("a contiguous
///   LSB-first bit stream", *Float stored in 6 bits*). PyTorch has no such dtype.
#[diagnostic::on_unimplemented(
    message = "elements cannot be read as `{Self}`",
    label = "take f32, f64, an integer of 8 to 64 bits, or an f16 or bf16 of the crate half"
)]
pub trait Element: Native + sealed::Element {}

impl<T: Native + sealed::Element> Element for T {}

/// Turns elements at the front of the bytes, the first at this bit of the first byte, into all of the values.
pub type Turn<T> = fn(&[u8], u8, &mut [T]);

/// How elements become values.
#[derive(Clone, Copy)]
pub enum Way<T: 'static> {
    /// They are values already.
    Stays,
    Turns(Turn<T>),
}

impl<T> Way<T> {
    /// Elements of the very type: `swap` is for machines with the high byte first.
    pub(super) const fn same(swap: Turn<T>) -> Self {
        if cfg!(target_endian = "little") { Self::Stays } else { Self::Turns(swap) }
    }
}

/// Puts values where elements of `W` bytes each become them one by one.
pub(super) fn each<T, const W: usize>(narrow: &[u8], values: &mut [T], put: impl Fn(&mut T, [u8; W])) {
    for (bytes, value) in groups(narrow).iter().zip(values) {
        put(value, *bytes);
    }
}

pub(super) mod sealed {
    use super::{Dtype, Turn, Way};

    pub trait Element: Sized + 'static {
        /// Something to fill a buffer with.
        const ZERO: Self;

        /// How all values of a dtype become values of this type.
        fn lossless(from: Dtype) -> Option<Way<Self>>;

        /// How values of a dtype are rounded to this type.
        fn rounded(from: Dtype) -> Option<Turn<Self>>;
    }
}
