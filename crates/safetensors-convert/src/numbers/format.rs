//! Binary float formats, and rounding exact numbers to them in one step.

use super::Number;
use embedded_safetensors::Dtype;

/// A binary float format of at most 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub(super) mantissa: u32,
    pub(super) exponent: u32,
    pub(super) bias: i32,
    pub(super) special: Special,
}

/// The special values of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// Infinities, and NaNs with payloads.
    Ieee,
    /// One NaN of each sign, with all bits set.
    LastIsNan,
    /// One NaN, in place of negative zero.
    NanIsMinusZero,
}

/// The result of rounding a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rounded {
    /// The bits of a finite number, and its value.
    Finite(u64, f64),
    /// Beyond the largest number; and whether it is negative.
    Over(bool),
    /// Infinite; and whether it is negative.
    Infinite(bool),
    /// The bits of a NaN.
    Nan(u64),
}

impl Format {
    pub fn of(dtype: Dtype) -> Option<Self> {
        use Special::{Ieee, LastIsNan, NanIsMinusZero};
        let (exponent, mantissa, special) = match dtype {
            Dtype::F64 => (11, 52, Ieee),
            Dtype::F32 => (8, 23, Ieee),
            Dtype::F16 => (5, 10, Ieee),
            Dtype::BF16 => (8, 7, Ieee),
            Dtype::F8_E5M2 => (5, 2, Ieee),
            Dtype::F8_E4M3 => (4, 3, LastIsNan),
            Dtype::F8_E4M3FNUZ => (4, 3, NanIsMinusZero),
            Dtype::F8_E5M2FNUZ => (5, 2, NanIsMinusZero),
            _ => return None,
        };
        let bias = (1 << (exponent - 1)) - if special == NanIsMinusZero { 0 } else { 1 };
        Some(Self { mantissa, exponent, bias, special })
    }

    pub fn has_infinities(&self) -> bool {
        self.special == Special::Ieee
    }

    /// Returns the bits of the largest finite number.
    fn largest(&self) -> u64 {
        let all = (1 << (self.exponent + self.mantissa)) - 1;
        match self.special {
            Special::Ieee => all - (1 << self.mantissa),
            Special::LastIsNan => all - 1,
            Special::NanIsMinusZero => all,
        }
    }

    /// Returns the largest finite number, which is a normal one.
    pub fn largest_value(&self) -> f64 {
        let (bits, one) = (self.largest(), 1 << self.mantissa);
        let exponent = i32::try_from(bits >> self.mantissa).unwrap_or(i32::MAX);
        scaled(bits & (one - 1) | one, exponent - self.bias - self.mantissa.cast_signed())
    }

    /// Returns the bits of the largest finite number with this sign.
    pub fn largest_bits(&self, is_negative: bool) -> u64 {
        self.largest() | self.sign(is_negative)
    }

    /// Returns the bits of the infinity with this sign, if the format has infinities.
    pub fn infinity_bits(&self, is_negative: bool) -> u64 {
        (self.largest() + 1) | self.sign(is_negative)
    }

    fn sign(&self, is_negative: bool) -> u64 {
        u64::from(is_negative) << (self.exponent + self.mantissa)
    }

    /// Rounds to the nearest number, the even one if two are equally near.
    pub fn round(&self, number: Number) -> Rounded {
        match Exact::of(number) {
            Exact::Nan { is_negative, payload } => Rounded::Nan(self.nan(is_negative, payload)),
            Exact::Infinite { is_negative } => Rounded::Infinite(is_negative),
            Exact::Finite { is_negative, significand, exponent } => {
                self.round_finite(is_negative, significand, exponent)
            }
        }
    }

    fn round_finite(&self, is_negative: bool, significand: u64, exponent: i32) -> Rounded {
        if significand == 0 {
            return Rounded::Finite(self.zero(is_negative), 0.0);
        }
        let highest = 63 - significand.leading_zeros().cast_signed() + exponent;
        let top = highest.max(1 - self.bias);
        let unit = top - self.mantissa.cast_signed();
        let units = shifted(significand, unit - exponent);
        // The implicit 1 of a normal number's mantissa adds one to its exponent, and so does a carry.
        let biased = u64::from((top + self.bias - 1).unsigned_abs());
        let bits = (biased << self.mantissa) + units;
        if bits > self.largest() {
            return Rounded::Over(is_negative);
        }
        if bits == 0 {
            return Rounded::Finite(self.zero(is_negative), 0.0);
        }
        let value = scaled(units, unit);
        Rounded::Finite(bits | self.sign(is_negative), if is_negative { -value } else { value })
    }

    fn zero(&self, is_negative: bool) -> u64 {
        if self.special == Special::NanIsMinusZero { 0 } else { self.sign(is_negative) }
    }

    /// Returns a quiet NaN that keeps the upper bits of the payload.
    fn nan(&self, is_negative: bool, payload: u64) -> u64 {
        match self.special {
            Special::Ieee => {
                let quiet = 1 << (self.mantissa - 1);
                self.infinity_bits(is_negative) | payload >> (52 - self.mantissa) | quiet
            }
            Special::LastIsNan => (self.largest() + 1) | self.sign(is_negative),
            Special::NanIsMinusZero => self.sign(true),
        }
    }
}

/// A number as an integer times a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    Finite { is_negative: bool, significand: u64, exponent: i32 },
    Infinite { is_negative: bool },
    Nan { is_negative: bool, payload: u64 },
}

impl Exact {
    pub fn of(number: Number) -> Self {
        let integer = |is_negative, significand| Self::Finite { is_negative, significand, exponent: 0 };
        match number {
            Number::Float(float) => Self::of_float(float),
            Number::Signed(value) => integer(value < 0, value.unsigned_abs()),
            Number::Unsigned(value) => integer(false, value),
        }
    }

    fn of_float(float: f64) -> Self {
        let bits = float.to_bits();
        let (is_negative, fraction) = (float.is_sign_negative(), bits & ((1 << 52) - 1));
        match (bits >> 52) & 0x7FF {
            0x7FF if fraction == 0 => Self::Infinite { is_negative },
            0x7FF => Self::Nan { is_negative, payload: fraction },
            0 => Self::Finite { is_negative, significand: fraction, exponent: -1074 },
            biased => {
                let exponent = i32::try_from(biased).unwrap_or_default() - 1075;
                Self::Finite { is_negative, significand: fraction | 1 << 52, exponent }
            }
        }
    }

    /// Returns the nearest integer, the even one if two are equally near; `None` beyond 127 bits.
    pub fn to_integer(self) -> Option<i128> {
        let Self::Finite { is_negative, significand, exponent } = self else { return None };
        let magnitude = match u32::try_from(exponent) {
            Ok(left @ 0..=63) => i128::from(significand) << left,
            Ok(_) if significand > 0 => return None,
            _ => i128::from(shifted(significand, -exponent)),
        };
        Some(if is_negative { -magnitude } else { magnitude })
    }
}

/// Shifts to the right and rounds to the nearest, ties to even; shifts to the left if `right` is negative
/// and the result fits.
fn shifted(number: u64, right: i32) -> u64 {
    match u32::try_from(right) {
        Err(_) => number << right.unsigned_abs(),
        Ok(0) => number,
        Ok(65..) => 0,
        Ok(64) => u64::from(number > 1 << 63),
        Ok(right) => {
            let (whole, half) = (number >> right, 1u64 << (right - 1));
            let rest = number & (half | (half - 1));
            whole + u64::from(rest > half || rest == half && whole & 1 == 1)
        }
    }
}

/// Computes `number * 2^exponent`, exact if the result is an `f64`.
fn scaled(number: u64, exponent: i32) -> f64 {
    let power = |exponent: i32| f64::from_bits(u64::from((exponent + 1023).unsigned_abs()) << 52);
    match exponent {
        ..-1022 => number as f64 * power(-1022) * power((exponent + 1022).max(-1022)),
        _ => number as f64 * power(exponent.min(1023)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Exact, Format, Number, Rounded};
    use crate::samples::noise;
    use embedded_safetensors::Dtype;

    fn finite(dtype: Dtype, number: impl Into<Number>) -> u64 {
        match Format::of(dtype).expect("a float").round(number.into()) {
            Rounded::Finite(bits, _) => bits,
            other => panic!("{other:?}"),
        }
    }

    /// Compares with the compiler's own rounding, as the tests of chunks do for floats.
    #[test]
    fn integers_are_rounded_as_by_the_compiler() {
        for bytes in noise(800_000, 1).as_chunks().0 {
            let bits = u64::from_le_bytes(*bytes);
            let integer = bits.cast_signed() >> (bits % 60);
            assert_eq!(finite(Dtype::F32, integer), u64::from((integer as f32).to_bits()));
            assert_eq!(finite(Dtype::F64, bits), (bits as f64).to_bits());
        }
    }

    /// Rounding to a double or a single first would make some a tie, which becomes even.
    #[test]
    fn numbers_are_rounded_once_and_largest_values_are_known() {
        let (half, tiny) = (f64::exp2(-11.0), f64::exp2(-200.0));
        for (dtype, number, bits) in [
            (Dtype::BF16, Number::Signed((1 << 62) + (1 << 54) + 1), 0x5E81),
            (Dtype::BF16, Number::Signed(1 << 62), 0x5E80),
            (Dtype::F16, (1.0 + half + f64::exp2(-40.0)).into(), 0x3C01),
            (Dtype::F16, (1.0 + half).into(), 0x3C00),
            (Dtype::F16, 65519.99.into(), 0x7BFF),
            (Dtype::F16, f64::exp2(-25.0).into(), 0),
            (Dtype::F16, (f64::exp2(-25.0) * 1.0001).into(), 1),
            (Dtype::F16, (-tiny).into(), 0x8000),
            (Dtype::F8_E5M2FNUZ, (-tiny).into(), 0),
            (Dtype::F64, 5e-324.into(), 1),
            (Dtype::F8_E4M3, 448.0.into(), 0x7E),
            (Dtype::F8_E5M2, 57344.0.into(), 0x7B),
            (Dtype::F8_E4M3FNUZ, 240.0.into(), 0x7F),
            (Dtype::F8_E5M2FNUZ, 57344.0.into(), 0x7F),
        ] {
            assert_eq!(finite(dtype, number), bits, "{dtype} {number:?}");
        }
        let over = Format::of(Dtype::F16).expect("a float").round(65520.0.into());
        assert_eq!(over, Rounded::Over(false));
    }

    #[test]
    fn floats_become_the_nearest_integers() {
        for (float, integer) in
            [(0.5, 0), (1.5, 2), (2.5, 2), (-2.5, -2), (-3.5, -4), (1e18, 10i128.pow(18)), (5e-324, 0)]
        {
            assert_eq!(Exact::of(Number::Float(float)).to_integer(), Some(integer), "{float}");
        }
        assert_eq!(Exact::of(Number::Float(1e300)).to_integer(), None);
    }
}
