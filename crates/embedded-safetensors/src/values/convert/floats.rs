//! Conversions to `f32` and `f64`, from the bits of narrow floats and from numbers.

use super::element::{ConvertFn, Way, each, sealed};
use super::packed::{unpack, unpack_many};
use crate::dtype::Dtype;
use crate::util::bytes::{low_u32, nearest_f32};
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

/// Elements of a one-byte [`Minifloat`], with code specific to the dtype where that is
/// faster.
macro_rules! bytes {
    ($format:ident) => {
        if VECTORS {
            widened!(u8, |byte| $format.widen(u32::from(byte)))
        } else {
            |narrow, skip, values| unpack($format, narrow, skip, values)
        }
    };
}

/// The same for elements that share bytes.
macro_rules! packed {
    ($format:ident) => {
        if VECTORS {
            |narrow, skip, values| {
                unpack_many($format.bits, narrow, skip, values, |value: &mut T, [element]| {
                    value.put($format.widen(u32::from(element)));
                });
            }
        } else {
            |narrow, skip, values| unpack($format, narrow, skip, values)
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

const INFINITY: u32 = f32::INFINITY.to_bits();
const QUIET_NAN: u32 = f32::NAN.to_bits();

/// A dtype with a sign, an exponent and a mantissa, but without infinities.
#[derive(Clone, Copy)]
pub(super) struct Minifloat {
    /// The width of an element.
    pub(super) bits: u32,
    mantissa: u32,
    bias: u32,
    /// A mask, and the value under it that marks a NaN.
    nan: (u32, u32),
}

/// No value under an empty mask is 1, so this dtype has no NaN.
const NO_NAN: (u32, u32) = (0, 1);

pub(super) const F4: Minifloat = Minifloat { bits: 4, mantissa: 1, bias: 1, nan: NO_NAN };
pub(super) const F6_E2M3: Minifloat = Minifloat { bits: 6, mantissa: 3, bias: 1, nan: NO_NAN };
pub(super) const F6_E3M2: Minifloat = Minifloat { bits: 6, mantissa: 2, bias: 3, nan: NO_NAN };
pub(super) const F8_E4M3: Minifloat = Minifloat { bits: 8, mantissa: 3, bias: 7, nan: (0x7F, 0x7F) };
pub(super) const F8_E4M3FNUZ: Minifloat = Minifloat { bits: 8, mantissa: 3, bias: 8, nan: (0xFF, 0x80) };
pub(super) const F8_E5M2FNUZ: Minifloat = Minifloat { bits: 8, mantissa: 2, bias: 16, nan: (0xFF, 0x80) };

impl Minifloat {
    /// Returns the bits of the `f32` with the element's value.
    pub(super) const fn widen(self, element: u32) -> u32 {
        let highest = self.bits - 1;
        let sign = element >> highest << 31;
        let (mask, nan) = self.nan;
        if element & mask == nan {
            return sign | QUIET_NAN;
        }
        sign | widen_magnitude(element & !(1 << highest), self.mantissa, self.bias)
    }
}

/// Widens exponent and mantissa. The largest exponent has no special meaning.
const fn widen_magnitude(magnitude: u32, mantissa: u32, bias: u32) -> u32 {
    if magnitude >> mantissa == 0 {
        // Subnormal: a multiple of the smallest value. An `f32` has more mantissa bits, so this is exact.
        let times = (magnitude as f32).to_bits();
        return times.saturating_sub((bias - 1 + mantissa) << 23);
    }
    (magnitude << (23 - mantissa)) + ((127 - bias) << 23)
}

pub(super) const fn widen_f16(element: u16) -> u32 {
    let sign = (element >> 15) as u32;
    let magnitude = (element & 0x7FFF) as u32;
    let special = if magnitude >= 0x7C00 { INFINITY } else { 0 };
    sign << 31 | special | widen_magnitude(magnitude, 10, 15)
}

/// [`widen_f16`] for targets with SIMD. It computes in 16 bits as long as possible, because that doubles
/// the number of lanes.
///
/// Subnormal elements have the exponent of the smallest normal ones, without the implicit 1 of the
/// mantissa. They are given both, and the 1 is subtracted as a float. All floats here are normal or zero.
pub(super) fn widen_f16s<T>(elements: &[u8; 2 * MANY], values: &mut [T; MANY], put: impl Fn(&mut T, u32)) {
    let [mut low, mut high, mut one, mut fix] = [[0; MANY]; 4];
    let parts = low.iter_mut().zip(&mut high).zip(one.iter_mut().zip(&mut fix));
    for (element, ((low, high), (one, fix))) in elements.chunks_exact(2).zip(parts) {
        let element = element.first_chunk().map_or(0, |element| u16::from_le_bytes(*element));
        let magnitude = element & 0x7FFF;
        let subnormal = if magnitude < 0x0400 { u16::MAX } else { 0 };
        *low = element << 13;
        *high = (magnitude >> 3) + (112 << 7) + (subnormal & 1 << 7);
        *one = subnormal & 113 << 7;
        *fix = element & 0x8000 | if magnitude > 0x7BFF { 0x7F80 } else { 0 };
    }
    let parts = low.iter().zip(&high).zip(one.iter().zip(&fix));
    for (value, ((&low, &high), (&one, &fix))) in values.iter_mut().zip(parts) {
        let widened = f32::from_bits(join(low, high)) - f32::from_bits(join(0, one));
        put(value, widened.to_bits() | join(0, fix));
    }
}

/// How many elements are converted at a time.
pub(super) const MANY: usize = 32;

const fn join(low: u16, high: u16) -> u32 {
    (high as u32) << 16 | low as u32
}

pub(super) const fn widen_bf16(element: u16) -> u32 {
    (element as u32) << 16
}

/// An F8_E5M2 is the upper half of an F16.
pub(super) const fn widen_e5m2(element: u8) -> u32 {
    widen_f16((element as u16) << 8)
}

pub(super) const fn widen_bool(element: u8) -> u32 {
    if element == 0 { 0 } else { 1f32.to_bits() }
}

/// Widens an integer that every `f32` can represent exactly.
pub(super) fn widen_number(number: impl Into<f32>) -> u32 {
    number.into().to_bits()
}

/// A power of two: only the exponent of an `f32`.
pub(super) const fn widen_e8m0(element: u8) -> u32 {
    match element {
        0 => 1 << 22,
        255 => QUIET_NAN,
        exponent => (exponent as u32) << 23,
    }
}

/// Returns the bits of an `f64` from those of an `f32`.
pub(super) const fn widen_f32(bits: u32) -> u64 {
    let value = f32::from_bits(bits);
    if !value.is_nan() {
        return (value as f64).to_bits();
    }
    let sign = (bits >> 31) as u64;
    let payload = (bits & !(1 << 31) & !INFINITY) as u64;
    sign << 63 | f64::INFINITY.to_bits() | payload << 29
}

/// Returns the bits of the nearest `f32` from those of an `f64`; NaNs become quiet.
pub(super) const fn round_f64(bits: u64) -> u32 {
    let value = f64::from_bits(bits);
    if !value.is_nan() {
        return nearest_f32(value).to_bits();
    }
    let sign = low_u32(bits >> 63);
    let payload = low_u32(bits >> 29 & 0x003F_FFFF);
    sign << 31 | QUIET_NAN | payload
}

#[cfg(test)]
mod tests {
    use super::{MANY, widen_f16, widen_f16s};

    /// Targets without SIMD use only the first of the two functions, and the tables test only the second.
    #[test]
    fn many_f16_are_widened_like_single_ones() {
        for first in (0..=u16::MAX).step_by(MANY) {
            let elements: [u16; MANY] = core::array::from_fn(|index| first + u16::try_from(index).unwrap());
            let mut bytes = [0; 2 * MANY];
            bytes.chunks_exact_mut(2).zip(elements).for_each(|(bytes, element)| {
                bytes.copy_from_slice(&element.to_le_bytes());
            });
            let mut widened = [0; MANY];
            widen_f16s(&bytes, &mut widened, |value, bits| *value = bits);
            assert_eq!(widened, elements.map(widen_f16));
        }
    }
}
