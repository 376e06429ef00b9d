//! Decodes the bits of narrow floats, and converts between float types.

use crate::util::bytes::{low_u32, nearest_f32};

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
