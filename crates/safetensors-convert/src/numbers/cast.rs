//! Casts numbers to elements of another dtype, and counts the losses.

use super::chunk::EXACT;
use super::format::{Exact, Format, Rounded};
use super::{Mean, Number};
use embedded_safetensors::Dtype;
use std::fmt::Debug;

/// The losses of a cast of a tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// The number of values.
    pub values: u64,
    /// The number of values that changed, those that were clamped or became infinite included.
    pub inexact: u64,
    /// The largest error of all finite values that stayed finite.
    pub max_error: f64,
    pub(super) errors: Mean,
    pub(super) finite: u64,
    /// The number of values that were clamped to the dtype's largest or smallest.
    pub clamped: u64,
    /// The number of finite values that became infinite.
    pub overflowed: u64,
    /// The number of nonzero values that became 0.
    pub zeroed: u64,
    /// The number of NaNs.
    pub nans: u64,
}

impl Report {
    /// Returns the mean error of all finite values that stayed finite; 0 if there are none.
    pub fn mean_error(&self) -> f64 {
        self.errors.of(self.finite)
    }

    /// Counts a finite value that stayed finite, with its error.
    pub fn see(&mut self, error: f64, is_zeroed: bool) {
        self.values += 1;
        self.finite += 1;
        self.inexact += u64::from(error > 0.0);
        self.zeroed += u64::from(is_zeroed);
        self.max_error = self.max_error.max(error);
        self.errors.add(error);
    }

    /// Adds the losses of other values.
    pub fn add(&mut self, other: &Self) {
        self.values += other.values;
        self.inexact += other.inexact;
        self.max_error = self.max_error.max(other.max_error);
        self.errors.add_all(other.errors);
        self.finite += other.finite;
        self.clamped += other.clamped;
        self.overflowed += other.overflowed;
        self.zeroed += other.zeroed;
        self.nans += other.nans;
    }

    /// Counts a value without an error: it is not finite, or does not stay so.
    fn see_special(&mut self, is_changed: bool) {
        self.values += 1;
        self.inexact += u64::from(is_changed);
    }
}

/// Casts numbers to a dtype one by one, and counts the losses.
#[derive(Clone, Debug)]
pub(super) struct Cast {
    pub(super) to: Dtype,
    pub(super) kind: Kind,
    pub(super) width: usize,
    saturates: bool,
    /// The losses so far.
    pub report: Report,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Float(Format),
    Integer { least: i128, largest: i128 },
}

/// Whether numbers can be cast to this dtype.
pub fn can_be_target(dtype: Dtype) -> bool {
    Kind::of(dtype).is_some()
}

impl Kind {
    fn of(dtype: Dtype) -> Option<Self> {
        use Dtype::{I8, I16, I32, I64, U8, U16, U32, U64};
        let bits = u32::from(dtype.bits());
        match dtype {
            U8 | U16 | U32 | U64 => Some(Self::Integer { least: 0, largest: (1 << bits) - 1 }),
            I8 | I16 | I32 | I64 => {
                Some(Self::Integer { least: -(1 << (bits - 1)), largest: (1 << (bits - 1)) - 1 })
            }
            _ => Format::of(dtype).map(Self::Float),
        }
    }
}

impl Cast {
    /// Creates a cast; `None` if [`can_be_target`] returns false.
    pub fn new(to: Dtype, saturates: bool) -> Option<Self> {
        let (kind, width) = (Kind::of(to)?, usize::from(to.bits() >> 3));
        Some(Self { to, kind, width, saturates, report: Report::default() })
    }

    /// Begins to cast so many numbers.
    pub fn begin(&mut self, elements: usize, out: &mut Vec<u8>) {
        out.resize(elements * self.width, 0);
        self.report = Report::default();
    }

    /// Returns the nearest element, the even one if two are equally near; its bytes are the first ones.
    ///
    /// # Errors
    /// The number is out of range or NaN, and the cast does not saturate.
    pub fn element(&mut self, number: Number) -> Result<[u8; 8], String> {
        match self.kind {
            Kind::Float(format) => self.float(format, number).map(u64::to_le_bytes),
            Kind::Integer { least, largest } => self.integer(least, largest, number),
        }
    }

    fn float(&mut self, format: Format, number: Number) -> Result<u64, String> {
        match format.round(number) {
            Rounded::Finite(bits, value) => {
                let error = distance(number, value);
                self.report.see(error, value == 0.0 && error > 0.0);
                Ok(bits)
            }
            Rounded::Nan(bits) => {
                self.report.see_special(false);
                self.report.nans += 1;
                Ok(bits)
            }
            Rounded::Infinite(is_negative) if format.has_infinities() => {
                self.report.see_special(false);
                Ok(format.infinity_bits(is_negative))
            }
            Rounded::Over(is_negative) if format.has_infinities() && !self.saturates => {
                self.report.see_special(true);
                self.report.overflowed += 1;
                Ok(format.infinity_bits(is_negative))
            }
            Rounded::Over(is_negative) | Rounded::Infinite(is_negative) => {
                let largest = format.largest_value();
                let error = distance(number, if is_negative { -largest } else { largest });
                self.clamp(number, [-largest, largest], error)?;
                Ok(format.largest_bits(is_negative))
            }
        }
    }

    /// Counts a value that becomes the nearest limit, with its error; infinities have none.
    fn clamp<T: Debug>(&mut self, number: Number, limits: [T; 2], error: f64) -> Result<(), String> {
        if !self.saturates {
            return Err(self.over(number, limits));
        }
        match error.is_finite() {
            true => self.report.see(error, false),
            false => self.report.see_special(true),
        }
        self.report.clamped += 1;
        Ok(())
    }

    #[cold]
    fn over<T: Debug>(&self, number: Number, [least, largest]: [T; 2]) -> String {
        let value = match number {
            Number::Float(float) => format!("{float:?}"),
            Number::Signed(integer) => integer.to_string(),
            Number::Unsigned(integer) => integer.to_string(),
        };
        let (to, advice) = (self.to, "exclude it with --except, or clamp with --saturate");
        format!("{value} does not fit {to}, which goes from {least:?} to {largest:?}; {advice}")
    }

    fn integer(&mut self, least: i128, largest: i128, number: Number) -> Result<[u8; 8], String> {
        let exact = Exact::of(number);
        let nearest = match exact {
            Exact::Nan { .. } => return self.zero_for_nan(),
            Exact::Infinite { is_negative } | Exact::Finite { is_negative, .. } => {
                exact.to_integer().unwrap_or(if is_negative { i128::MIN } else { i128::MAX })
            }
        };
        let clamped = nearest.clamp(least, largest);
        let error = distance_to_integer(number, clamped);
        match clamped == nearest {
            true => self.report.see(error, clamped == 0 && error > 0.0),
            false => self.clamp(number, [least, largest], error)?,
        }
        Ok(clamped.to_le_bytes().first_chunk().copied().unwrap_or_default())
    }

    fn zero_for_nan(&mut self) -> Result<[u8; 8], String> {
        if !self.saturates {
            return Err(format!("it has a NaN, and {} has none; --saturate makes it 0", self.to));
        }
        self.report.see_special(true);
        self.report.nans += 1;
        Ok([0; 8])
    }
}

/// Returns the distance between a number and its rounded value. Integers are compared as integers, because
/// doubles cannot distinguish large ones.
fn distance(number: Number, rounded: f64) -> f64 {
    match (number, Exact::of(Number::Float(rounded)).to_integer()) {
        (Number::Signed(_) | Number::Unsigned(_), Some(rounded)) => distance_to_integer(number, rounded),
        _ => (number.nearest() - rounded).abs(),
    }
}

/// Returns the distance between a number and an integer.
fn distance_to_integer(number: Number, rounded: i128) -> f64 {
    match (number, Exact::of(number).to_integer()) {
        // It may have a fraction.
        (Number::Float(float), _) if float.abs() < EXACT => (float - rounded as f64).abs(),
        (_, Some(integer)) => integer.abs_diff(rounded) as f64,
        _ => (number.nearest() - rounded as f64).abs(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Cast, Dtype, Number, Number::Float, Report};

    /// Casts numbers, and returns the last byte of each element with the losses; or the error.
    fn cast(to: Dtype, saturates: bool, numbers: &[Number]) -> String {
        let (mut cast, mut bytes) = (Cast::new(to, saturates).expect("a target"), Vec::new());
        for &number in numbers {
            match cast.element(number) {
                Ok(element) => bytes.push(element[cast.width - 1]),
                Err(sentence) => return sentence,
            }
        }
        let Report { inexact, max_error, clamped, overflowed, zeroed, nans, values, .. } = cast.report;
        assert_eq!(values, numbers.len() as u64);
        format!("{bytes:x?} {inexact}/{max_error:?}/{clamped}/{overflowed}/{zeroed}/{nans}")
    }

    /// The losses are inexact numbers, the largest error, and clamped, overflowed, zeroed and not numbers.
    #[test]
    fn losses_are_counted() {
        let large = [1e6, -1e6, f64::INFINITY].map(Float);
        let odd = [f64::NAN, f64::NEG_INFINITY, 1e300].map(Float);
        let small = [Float(2.5), Float(-0.25), Number::Signed(-128), Number::Unsigned(127)];
        let advice = "exclude it with --except, or clamp with --saturate";
        for (to, saturates, numbers, outcome) in [
            (Dtype::F16, false, &large[..], "[7c, fc, 7c] 2/0.0/0/2/0/0"),
            (Dtype::F16, true, &large, "[7b, fb, 7c] 2/934496.0/2/0/0/0"),
            (Dtype::F8_E4M3, true, &large, "[7e, fe, 7e] 3/999552.0/3/0/0/0"),
            (Dtype::F64, false, &odd, "[7f, ff, 7e] 0/0.0/0/0/0/1"),
            (Dtype::I8, false, &small, "[2, 0, 80, 7f] 2/0.5/0/0/1/0"),
            (Dtype::U16, true, &odd, "[0, 0, ff] 3/1e300/2/0/0/1"),
            // As integers, because doubles cannot distinguish large ones.
            (Dtype::F64, false, &[Number::Signed((1 << 53) + 1)], "[43] 1/1.0/0/0/0/0"),
            (Dtype::U64, true, &[Float(f64::exp2(64.0))], "[ff] 1/1.0/1/0/0/0"),
            (Dtype::I64, true, &[Float(f64::exp2(63.0))], "[7f] 1/1.0/1/0/0/0"),
            (
                Dtype::F8_E4M3,
                false,
                &large,
                "1000000.0 does not fit F8_E4M3, which goes from -448.0 to 448.0; ",
            ),
            (Dtype::U8, false, &small[1..], "-128 does not fit U8, which goes from 0 to 255; "),
            (Dtype::U8, false, &odd, "it has a NaN, and U8 has none; --saturate makes it 0"),
        ] {
            let found = cast(to, saturates, numbers);
            assert_eq!(found.strip_suffix(advice).unwrap_or(&found), outcome, "{to}");
        }
    }
}
