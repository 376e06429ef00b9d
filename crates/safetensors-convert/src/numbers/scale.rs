//! Symmetric quantisation: integers from -127 to 127, multiplied by a common scale.

use super::block::{BLOCK, double, double::UNIT};
use super::decode::Decoder;
use super::{Report, Scales, wide};
use embedded_safetensors::Dtype;
use std::io;

/// The largest quantised element.
const STEPS: f64 = 127.0;

/// Steps from here on are clamped.
const CLAMPED: f64 = 127.5;

/// The largest magnitude of some numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Largest {
    /// Its bits. Those of infinities and NaNs are larger than all others.
    bits: u64,
}

impl Largest {
    /// Takes other numbers into account.
    pub fn add(&mut self, other: Self) {
        self.bits = self.bits.max(other.bits);
    }

    /// Whether all numbers are finite; others cannot be quantised.
    pub fn is_finite(self) -> bool {
        self.value().is_finite()
    }

    fn of(numbers: &[f64]) -> Self {
        let magnitudes = numbers.iter().map(|number| number.abs().to_bits());
        Self { bits: wide::run(|| magnitudes.fold(0, u64::max)) }
    }

    /// Returns the number; an infinity or a NaN if there is one.
    pub fn value(self) -> f64 {
        f64::from_bits(self.bits)
    }

    /// Returns the scale that maps the largest number to 127, rounded to F32; 1 if all numbers are 0. It is
    /// never subnormal: smaller ones have fewer bits, with which the largest number may exceed 127, and
    /// many processors take them for 0. `None` if it is larger than the largest F32.
    #[allow(clippy::cast_possible_truncation)]
    pub fn scale(self) -> Option<f32> {
        match (self.value() / STEPS) as f32 {
            _ if self.bits == 0 => Some(1.0),
            scale if scale.is_finite() => Some(scale.max(f32::MIN_POSITIVE)),
            _ => None,
        }
    }
}

/// Quantises chunks of elements to I8.
#[derive(Clone)]
pub struct Quantizer {
    decoder: Decoder,
    numbers: Vec<f64>,
}

impl Quantizer {
    /// Creates a quantiser of elements of this dtype.
    pub fn new(from: Dtype) -> Self {
        Self { decoder: Decoder::new(from), numbers: Vec::new() }
    }

    /// Returns the largest magnitude of each row, and how many of its elements the chunk has. The rows are
    /// those of the scales, which need not be known.
    ///
    /// # Errors
    /// The bytes are not whole elements.
    pub fn largest(&mut self, bytes: &[u8], rows: &Scales) -> io::Result<Vec<(u64, Largest)>> {
        self.decoder.decode_doubles(bytes, &mut self.numbers)?;
        let [first, each] = [rows.first, rows.each].map(|len| usize::try_from(len).unwrap_or(usize::MAX));
        let (first, others) = self.numbers.split_at(first.min(self.numbers.len()));
        let parts = [first].into_iter().chain(others.chunks(each.max(1)));
        Ok(parts.map(|part| (part.len() as u64, Largest::of(part))).collect())
    }

    /// Makes `out` the nearest multiples of the scales, the even ones if two are equally near, and returns
    /// the losses.
    ///
    /// # Errors
    /// The bytes are not whole elements.
    pub fn quantize(&mut self, bytes: &[u8], scales: &Scales, out: &mut Vec<u8>) -> io::Result<Report> {
        self.decoder.decode_doubles(bytes, &mut self.numbers)?;
        out.resize(self.numbers.len(), 0);
        let mut report = Report::default();
        scales.parts(self.numbers.len(), |part, scale| {
            let (numbers, out) = (&self.numbers[part.clone()], &mut out[part]);
            for (numbers, out) in numbers.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
                wide::run(|| quantized(numbers, scale, out, &mut report));
            }
        });
        Ok(report)
    }
}

#[inline(always)]
fn quantized(numbers: &[f64], scale: f64, out: &mut [u8], report: &mut Report) {
    let mut errors = [0.0; BLOCK];
    let (mut zeroed, mut clamped) = (0, 0);
    for ((&number, out), error) in numbers.iter().zip(out).zip(&mut errors) {
        let steps = number / scale;
        let moved = steps.clamp(-STEPS, STEPS) + UNIT;
        *out = moved.to_bits().to_le_bytes()[0];
        let rounded = moved - UNIT;
        *error = (number - rounded * scale).abs();
        zeroed += u64::from((rounded == 0.0) & (number != 0.0));
        clamped += u64::from(steps.abs() >= CLAMPED);
    }
    let (values, finite) = (numbers.len() as u64, numbers.len() as u64);
    let losses = double::summed(&errors[..numbers.len()]);
    report.add(&Report { values, finite, zeroed, clamped, ..losses });
}

#[cfg(test)]
mod tests {
    use super::{Dtype, Largest, Quantizer, Report, Scales};

    fn bytes(numbers: &[f64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    fn largest(numbers: &[f64]) -> Largest {
        let rows = Scales { first: numbers.len() as u64, ..Scales::default() };
        let rows = Quantizer::new(Dtype::F64).largest(&bytes(numbers), &rows);
        rows.expect("whole elements")[0].1
    }

    fn quantize(numbers: &[f64], scale: f32) -> (Vec<u8>, Report) {
        let (mut quantizer, mut out) = (Quantizer::new(Dtype::F64), Vec::new());
        let scales = Scales { first: numbers.len() as u64, each: 1, scales: vec![scale] };
        let report = quantizer.quantize(&bytes(numbers), &scales, &mut out).expect("whole elements");
        (out, report)
    }

    #[test]
    fn largest_number_becomes_127() {
        let numbers = [0.0, 1.0, -2.54, 0.009, 1.27];
        assert_eq!(largest(&numbers).scale(), Some(0.02));
        let (out, report) = quantize(&numbers, 0.02);
        assert_eq!((&out[..], report.zeroed, report.clamped), (&[0, 50, 129, 0, 64][..], 1, 0));
        assert!((report.max_error - 0.01).abs() < 1e-3);
    }

    #[test]
    fn scales_are_normal() {
        let (most, least) = (f64::from(f32::MAX) * 127.0, f64::from(f32::MIN_POSITIVE));
        for (number, scale) in [
            (0.0, Some(1.0)),
            (-1e300, None),
            (most, Some(f32::MAX)),
            (most * 1.000_001, None),
            (least * 254.0, Some(2.0 * f32::MIN_POSITIVE)),
            (least, Some(f32::MIN_POSITIVE)),
            (-5e-324, Some(f32::MIN_POSITIVE)),
        ] {
            assert_eq!(largest(&[number, 0.0]).scale(), scale, "{number}");
        }
        for (number, is_finite) in [(f64::NAN, false), (-f64::INFINITY, false), (1e300, true)] {
            assert_eq!(largest(&[0.0, number, 1.0]).is_finite(), is_finite);
        }
    }

    /// 190 units of a subnormal F32, of which 127ths are 1.5 units.
    #[test]
    fn tiny_numbers_are_not_clamped() {
        for number in [1.0, 190.0, -1e5, 2e9].map(|units| units * f64::from(f32::from_bits(1))) {
            let numbers = [number, number / -2.0];
            let scale = largest(&numbers).scale().expect("a scale");
            let (_, report) = quantize(&numbers, scale);
            assert!(
                report.clamped == 0 && report.max_error <= f64::from(scale) / 2.0,
                "{numbers:?}: {report:?}"
            );
        }
    }
}
