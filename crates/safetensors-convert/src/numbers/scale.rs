//! Symmetric quantisation: integers from -127 to 127, and a number that all of them are multiplied by.

use super::format::{Format, Rounded};
use super::{Number, Report};
use embedded_safetensors::Dtype;

/// The largest number that an element is quantised to.
const STEPS: f64 = 127.0;

/// The largest magnitude of some numbers.
#[derive(Clone, Copy, Default)]
pub struct Largest(f64);

impl Largest {
    /// Whether it is a finite number; others cannot be quantised.
    pub fn see(&mut self, number: Number) -> bool {
        let magnitude = number.nearest().abs();
        self.0 = self.0.max(magnitude);
        magnitude.is_finite()
    }

    /// The scale by which the largest number becomes 127: the nearest F32. Where all numbers are 0, it is 1.
    pub fn scale(self) -> f32 {
        let format = Format::of(Dtype::F32).map(|format| format.round(Number::Float(self.0 / STEPS)));
        match format {
            Some(Rounded::Finite(bits, value)) if value > 0.0 => {
                f32::from_bits(u32::try_from(bits).unwrap_or_default())
            }
            Some(Rounded::Over { .. }) => f32::MAX,
            _ => 1.0,
        }
    }
}

/// Turns numbers into I8 by one scale after the other.
#[derive(Default)]
pub struct Quantizer {
    /// What it has done so far.
    pub report: Report,
}

impl Quantizer {
    /// The nearest multiple of the scale, of two as near ones the even one.
    pub fn push(&mut self, number: Number, scale: f32, bytes: &mut Vec<u8>) {
        let (value, scale) = (number.nearest(), f64::from(scale));
        let steps = (value / scale).round_ties_even();
        let clamped = steps.clamp(-STEPS, STEPS);
        self.report.see((value - clamped * scale).abs(), clamped == 0.0 && value != 0.0);
        self.report.clamped += u64::from(clamped != steps);
        let element = super::format::Exact::of(Number::Float(clamped)).to_integer().unwrap_or_default();
        bytes.push(element.to_le_bytes()[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::{Largest, Number, Quantizer};

    #[test]
    fn the_largest_becomes_127() {
        let numbers = [0.0, 1.0, -2.54, 0.009, 1.27].map(Number::Float);
        let mut largest = Largest::default();
        assert!(numbers.iter().all(|&number| largest.see(number)));
        assert_eq!(largest.scale(), 0.02);
        let (mut quantizer, mut bytes) = (Quantizer::default(), Vec::new());
        numbers.iter().for_each(|&number| quantizer.push(number, largest.scale(), &mut bytes));
        assert_eq!(bytes, [0, 50, 129, 0, 64]);
        assert_eq!((quantizer.report.zeroed, quantizer.report.clamped), (1, 0));
        assert!((quantizer.report.max_error - 0.01).abs() < 1e-3);
    }

    #[test]
    fn odd_scales() {
        assert_eq!(Largest::default().scale(), 1.0);
        let mut largest = Largest::default();
        assert!(largest.see(Number::Float(1e300)));
        assert_eq!(largest.scale(), f32::MAX);
        assert!(!largest.see(Number::Float(f64::NAN)) && !largest.see(Number::Float(f64::INFINITY)));
    }
}
