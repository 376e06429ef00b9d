//! Conversions to `f32` and `f64`.

use super::decode::{
    self, MANY, round_f64, widen_bf16, widen_bool, widen_e5m2, widen_e8m0, widen_f16, widen_f16s, widen_f32,
    widen_number,
};
use super::element::{ConvertFn, Way, each, sealed};
use super::packed::{unpack, unpack_many};
use crate::dtype::Dtype;
use crate::values::native::{Native, bytes_of_mut};

/// A type that has all values of `f32`.
pub(super) trait Float: Native {
    type Bits;

    /// Sets the value by its bits.
    fn put_bits(&mut self, bits: Self::Bits);

    /// Sets the value to that of an `f32`, which is given by its bits.
    fn put(&mut self, bits: u32);
}

impl Float for f32 {
    type Bits = u32;

    fn put_bits(&mut self, bits: u32) {
        put_bytes(self, bits.to_ne_bytes());
    }

    fn put(&mut self, bits: u32) {
        self.put_bits(bits);
    }
}

impl Float for f64 {
    type Bits = u64;

    fn put_bits(&mut self, bits: u64) {
        put_bytes(self, bits.to_ne_bytes());
    }

    fn put(&mut self, bits: u32) {
        self.put_bits(widen_f32(bits));
    }
}

fn put_bytes<T: Native, const W: usize>(value: &mut T, bytes: [u8; W]) {
    if let Some(value) = bytes_of_mut(core::slice::from_mut(value)).first_chunk_mut() {
        *value = bytes;
    }
}

/// Each element is a `$narrow`, and `$widen` returns the bits of the `f32` with its value.
macro_rules! widened {
    ($narrow:ident, $widen:expr) => {
        |narrow, _, values| {
            each(narrow, values, |value: &mut T, bytes| value.put($widen($narrow::from_le_bytes(bytes))))
        }
    };
}

/// Elements of a one-byte [`Minifloat`](decode::Minifloat), with code specific to the dtype where that is
/// faster.
macro_rules! bytes {
    ($format:ident) => {
        if VECTORS {
            widened!(u8, |byte| decode::$format.widen(u32::from(byte)))
        } else {
            |narrow, skip, values| unpack(decode::$format, narrow, skip, values)
        }
    };
}

/// The same for elements that share bytes.
macro_rules! packed {
    ($format:ident) => {
        if VECTORS {
            |narrow, skip, values| {
                unpack_many(decode::$format.bits, narrow, skip, values, |value: &mut T, [element]| {
                    value.put(decode::$format.widen(u32::from(element)));
                });
            }
        } else {
            |narrow, skip, values| unpack(decode::$format, narrow, skip, values)
        }
    };
}

/// Each element is an integer, and becomes the nearest float.
macro_rules! nearest {
    ($integer:ident as $float:ident) => {
        |narrow, _, values| {
            each(narrow, values, |value: &mut $float, bytes| {
                value.put_bits(($integer::from_le_bytes(bytes) as $float).to_bits());
            });
        }
    };
}

/// Whether the target has SIMD. Without it, the smaller code is faster.
const VECTORS: bool = cfg!(any(target_feature = "sse2", target_feature = "neon"));

/// Converts from all dtypes that are narrower than F32.
fn widened<T: Float>(from: Dtype) -> Option<ConvertFn<T>> {
    Some(match from {
        Dtype::BF16 => widened!(u16, widen_bf16),
        Dtype::F16 if VECTORS => from_f16s,
        Dtype::F16 => widened!(u16, widen_f16),
        Dtype::U16 => widened!(u16, widen_number),
        Dtype::I16 => widened!(i16, widen_number),
        Dtype::U8 => widened!(u8, widen_number),
        Dtype::I8 => widened!(i8, widen_number),
        Dtype::BOOL => widened!(u8, widen_bool),
        Dtype::F8_E5M2 => widened!(u8, widen_e5m2),
        Dtype::F8_E8M0 => widened!(u8, widen_e8m0),
        Dtype::F8_E4M3 => bytes!(F8_E4M3),
        Dtype::F8_E4M3FNUZ => bytes!(F8_E4M3FNUZ),
        Dtype::F8_E5M2FNUZ => bytes!(F8_E5M2FNUZ),
        Dtype::F6_E2M3 => packed!(F6_E2M3),
        Dtype::F6_E3M2 => packed!(F6_E3M2),
        Dtype::F4 => packed!(F4),
        _ => return None,
    })
}

/// Converts [`MANY`] elements at a time, and the remainder one by one.
fn from_f16s<T: Float>(narrow: &[u8], _: u8, values: &mut [T]) {
    let whole = values.len() & !(MANY - 1);
    let (Some((many, few)), Some((narrow, rest))) =
        (values.split_at_mut_checked(whole), narrow.split_at_checked(2 * whole))
    else {
        return;
    };
    for (values, elements) in many.chunks_exact_mut(MANY).zip(narrow.chunks_exact(2 * MANY)) {
        if let (Some(elements), Some(values)) = (elements.first_chunk(), values.first_chunk_mut()) {
            widen_f16s(elements, values, T::put);
        }
    }
    each(rest, few, |value, bytes| value.put(widen_f16(u16::from_le_bytes(bytes))));
}

fn from_f32<T: Float>(narrow: &[u8], _: u8, values: &mut [T]) {
    each(narrow, values, |value, bytes| value.put(u32::from_le_bytes(bytes)));
}

impl sealed::Element for f32 {
    const ZERO: Self = 0.0;

    #[inline]
    fn lossless(from: Dtype) -> Option<Way<Self>> {
        match from {
            Dtype::F32 | Dtype::C64 => Some(Way::same(from_f32)),
            _ => widened(from).map(Way::Convert),
        }
    }

    #[inline]
    fn rounded(from: Dtype) -> Option<ConvertFn<Self>> {
        Some(match from {
            Dtype::F64 => |wide, _, values| {
                each(wide, values, |value: &mut Self, bytes| {
                    value.put_bits(round_f64(u64::from_le_bytes(bytes)));
                });
            },
            Dtype::I32 => nearest!(i32 as f32),
            Dtype::U32 => nearest!(u32 as f32),
            Dtype::I64 => nearest!(i64 as f32),
            Dtype::U64 => nearest!(u64 as f32),
            _ => return None,
        })
    }
}

impl sealed::Element for f64 {
    const ZERO: Self = 0.0;

    #[inline]
    fn lossless(from: Dtype) -> Option<Way<Self>> {
        Some(match from {
            Dtype::F64 => Way::same(|narrow, _, values| {
                each(narrow, values, |value: &mut Self, bytes| value.put_bits(u64::from_le_bytes(bytes)));
            }),
            Dtype::F32 | Dtype::C64 => Way::Convert(from_f32),
            Dtype::I32 => Way::Convert(nearest!(i32 as f64)),
            Dtype::U32 => Way::Convert(nearest!(u32 as f64)),
            _ => return widened(from).map(Way::Convert),
        })
    }

    #[inline]
    fn rounded(from: Dtype) -> Option<ConvertFn<Self>> {
        match from {
            Dtype::I64 => Some(nearest!(i64 as f64)),
            Dtype::U64 => Some(nearest!(u64 as f64)),
            _ => None,
        }
    }
}
