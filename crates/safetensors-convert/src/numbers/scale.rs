//! Symmetric quantisation: integers from -127 to 127, multiplied by a common scale.

use super::format::{Format, Rounded};
use super::{Number, Report};
use embedded_safetensors::Dtype;

/// The largest quantised element.
const STEPS: f64 = 127.0;

/// The largest magnitude of some numbers.
#[derive(Clone, Copy, Default)]
pub struct Largest(f64);

impl Largest {
    /// Takes a number into account, and returns whether it is finite; others cannot be quantised.
    pub fn see(&mut self, number: Number) -> bool {
        let magnitude = number.nearest().abs();
        self.0 = self.0.max(magnitude);
        magnitude.is_finite()
    }

    /// Returns the scale that maps the largest number to 127, rounded to F32; 1 if all numbers are 0.
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

/// Quantises numbers to I8, each with its scale.
#[derive(Default)]
pub struct Quantizer {
    /// The losses so far.
    pub report: Report,
}

impl Quantizer {
    /// Appends the nearest multiple of the scale, the even one if two are equally near.
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
    fn largest_number_becomes_127() {
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
    fn scale_of_zeros_and_huge_numbers() {
        assert_eq!(Largest::default().scale(), 1.0);
        let mut largest = Largest::default();
        assert!(largest.see(Number::Float(1e300)));
        assert_eq!(largest.scale(), f32::MAX);
        assert!(!largest.see(Number::Float(f64::NAN)) && !largest.see(Number::Float(f64::INFINITY)));
    }
}
