//! The types that elements can be read as.

use crate::dtype::Dtype;
use crate::values::native::{Native, groups};

/// A type that the elements of a tensor can be read as, from any dtype in this table: `f32` and `f64`, the
/// integers of 8 to 64 bits, and with the feature `half` its `f16` and `bf16`.
///
/// | type | lossless from | also rounded from |
/// |---|---|---|
/// | `f32` | F32, F16, BF16, all of F8, F6 and F4, I8, U8, I16, U16, BOOL, C64 | F64, I32, U32, I64, U64 |
/// | `f64` | F64, I32, U32, and all that `f32` has in this column | I64, U64 |
/// | an integer | BOOL, and the integers whose values all fit | |
/// | `f16`, `bf16` | itself | |
///
/// *Lossless* means that the type has every value of the dtype. Zeros, infinities and NaNs keep their sign.
/// NaNs keep their payload, and a signalling NaN stays signalling. Subnormal numbers are exact. If the
/// dtype has no payloads (F8_E4M3, F8_E8M0 and the FNUZ pair), its NaN becomes the quiet NaN without a
/// payload. That NaN is negative if its highest bit is a set sign, which is always the case for the FNUZ
/// pair.
///
/// *Rounded* means to the nearest value, with ties to even. Values beyond the largest become infinity. A
/// NaN keeps the upper bits of its payload and becomes quiet.
///
/// BOOL is 0 for the byte 0 and 1 for every other byte. C64 is read as F32, the real part first, so it has
/// twice as many elements. F8_E8M0 is a power of two, from 2⁻¹²⁷ for 0 to 2¹²⁷ for 254.
///
/// # Packing
/// The format says how wide F4 and F6 elements are, but not how they are packed into bytes. Nor does the
/// specification of microscaling formats (OCP MX 1.0), which defines the bits of one element: "The layout
/// of the block in physical memory is not prescribed". Here both are a bit stream, the lowest bit of each
/// byte first:
///
/// * F4: the first of two elements is in the low four bits of the byte, as in PyTorch's `float4_e2m1fn_x2`
///   (`torch/headeronly/util/Float4_e2m1fn_x2.h`: "val1 : val0" from bit 7 to bit 0) and in ONNX.
/// * F6: element `i` is at bits 6`i` to 6`i` + 5, so four elements take three bytes, as in ONNX ("a
///   contiguous LSB-first bit stream", *Float stored in 6 bits*). PyTorch has no such dtype.
#[diagnostic::on_unimplemented(
    message = "elements cannot be read as `{Self}`",
    label = "take f32, f64, an integer of 8 to 64 bits, or an f16 or bf16 of the crate half"
)]
pub trait Element: Native + sealed::Element {}

impl<T: Native + sealed::Element> Element for T {}

/// Converts the elements in the bytes, from the given bit of the first byte on, into all of the values.
pub type ConvertFn<T> = fn(&[u8], u8, &mut [T]);

/// How elements become values.
#[derive(Clone, Copy)]
pub enum Way<T: 'static> {
    /// They are values already.
    Same,
    Convert(ConvertFn<T>),
}

impl<T> Way<T> {
    /// For a dtype that is the type itself: `swap` is for big-endian targets.
    pub(super) const fn same(swap: ConvertFn<T>) -> Self {
        if cfg!(target_endian = "little") { Self::Same } else { Self::Convert(swap) }
    }
}

/// Converts elements of `W` bytes each, one by one.
pub(super) fn each<T, const W: usize>(narrow: &[u8], values: &mut [T], put: impl Fn(&mut T, [u8; W])) {
    for (bytes, value) in groups(narrow).iter().zip(values) {
        put(value, *bytes);
    }
}

pub(super) mod sealed {
    use super::{ConvertFn, Dtype, Way};

    pub trait Element: Sized + 'static {
        /// A value to fill a buffer with.
        const ZERO: Self;

        /// How a dtype is converted without loss.
        fn lossless(from: Dtype) -> Option<Way<Self>>;

        /// How a dtype is converted with rounding.
        fn rounded(from: Dtype) -> Option<ConvertFn<Self>>;
    }
}
