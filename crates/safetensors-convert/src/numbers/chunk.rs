//! Casts chunks of elements.

use super::decode::{Decoder, is_integer, needs_f64};
use super::{Cast, Number, Report, block};
use embedded_safetensors::Dtype;
use std::io;
use std::ops::Range;

/// Casts chunks of elements of one dtype to another one.
#[derive(Clone)]
pub struct Caster {
    from: Dtype,
    cast: Cast,
    decoder: Decoder,
    singles: Vec<f32>,
    doubles: Vec<f64>,
}

/// The scales of the elements of a chunk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scales {
    /// The number of elements that have the first scale.
    pub first: u64,
    /// The number of elements that have each other one.
    pub each: u64,
    /// The scales.
    pub scales: Vec<f32>,
}

impl Scales {
    /// Passes each part of the elements that have the same scale to `see`, with the scale.
    pub(super) fn parts(&self, elements: usize, mut see: impl FnMut(Range<usize>, f64)) {
        let (mut begin, mut len) = (0, self.first);
        for &scale in &self.scales {
            let end = usize::try_from(len).unwrap_or(usize::MAX).saturating_add(begin).min(elements);
            see(begin..end, f64::from(scale));
            (begin, len) = (end, self.each);
        }
    }
}

/// From here on an `f64` does not represent every integer.
pub(super) const EXACT: f64 = f64::from_bits((1023 + 53) << 52);

impl Caster {
    /// Creates a cast; `None` if [`can_be_target`](super::can_be_target) returns false.
    pub fn new(from: Dtype, to: Dtype, saturates: bool) -> Option<Self> {
        let (decoder, singles, doubles) = (Decoder::new(from), Vec::new(), Vec::new());
        Some(Self { from, cast: Cast::new(to, saturates)?, decoder, singles, doubles })
    }

    /// Makes `out` the nearest elements, the even ones if two are equally near, and returns the losses.
    ///
    /// # Errors
    /// The bytes are not whole elements; a number is out of range or NaN, and the cast does not saturate.
    pub fn cast(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<Report> {
        let (from, width) = (self.from, usize::from(self.from.bits() >> 3));
        let number = |index: usize, value| match (from, bytes.chunks_exact(width.max(1)).nth(index)) {
            (Dtype::U64, Some(bytes)) => Number::Unsigned(u64::from_le_bytes(fixed(bytes))),
            (Dtype::I64, Some(bytes)) => Number::Signed(i64::from_le_bytes(fixed(bytes))),
            _ if is_integer(from) => Number::Signed(integer(value)),
            _ => Number::Float(value),
        };
        if !needs_f64(from) && !needs_f64(self.cast.to) {
            self.decoder.decode(bytes, &mut self.singles)?;
            self.cast.begin(self.singles.len(), out);
            let done = block::single::cast(&mut self.cast, &self.singles, out, &number);
            return done.map(|()| self.cast.report).map_err(io::Error::other);
        }
        self.decoder.decode_doubles(bytes, &mut self.doubles)?;
        if matches!(from, Dtype::I64 | Dtype::U64) {
            // Cast by its bytes.
            self.doubles.iter_mut().filter(|value| value.abs() >= EXACT).for_each(|value| *value = f64::NAN);
        }
        self.cast_doubles(out, &number)
    }

    /// Makes `out` the nearest elements of the products with the scales, as [`cast`](Self::cast) does.
    ///
    /// # Errors
    /// As [`cast`](Self::cast).
    pub fn unscale(&mut self, bytes: &[u8], scales: &Scales, out: &mut Vec<u8>) -> io::Result<Report> {
        self.decoder.decode_doubles(bytes, &mut self.doubles)?;
        // Exact for I8: 8 bits times 24.
        let values = &mut self.doubles;
        scales.parts(values.len(), |part, scale| values[part].iter_mut().for_each(|value| *value *= scale));
        self.cast_doubles(out, &|_, value| Number::Float(value))
    }

    fn cast_doubles(
        &mut self,
        out: &mut Vec<u8>,
        number: &dyn Fn(usize, f64) -> Number,
    ) -> io::Result<Report> {
        self.cast.begin(self.doubles.len(), out);
        let done = block::double::cast(&mut self.cast, &self.doubles, out, number);
        done.map(|()| self.cast.report).map_err(io::Error::other)
    }
}

fn fixed(bytes: &[u8]) -> [u8; 8] {
    bytes.first_chunk().copied().unwrap_or_default()
}

/// Returns the integer with this value, which was an integer of at most 32 bits.
#[allow(clippy::cast_possible_truncation)]
fn integer(value: f64) -> i64 {
    value as i64
}

#[cfg(test)]
mod tests {
    use super::{Caster, Scales, is_integer};
    use crate::numbers::decode::Decoder;
    use crate::numbers::{Cast, Number, Report, can_be_target};
    use crate::samples::noise;
    use embedded_safetensors::Dtype;

    /// A chunk and more, but no multiple of a vector or of a block.
    const ELEMENTS: usize = 4 * 509;

    /// Returns the numbers one by one.
    fn numbers(from: Dtype, bytes: &[u8]) -> Vec<Number> {
        fn all<T: Into<Number>>(values: Vec<T>) -> Vec<Number> {
            values.into_iter().map(Into::into).collect()
        }
        let (decoder, mut floats, mut signed, mut unsigned) =
            (Decoder::new(from), Vec::<f64>::new(), Vec::<i64>::new(), Vec::<u64>::new());
        match from {
            Dtype::U64 => decoder.decode(bytes, &mut unsigned).map(|()| all(unsigned)),
            _ if is_integer(from) => decoder.decode(bytes, &mut signed).map(|()| all(signed)),
            _ => decoder.decode(bytes, &mut floats).map(|()| all(floats)),
        }
        .expect("whole elements")
    }

    /// Casts one by one; the error is a sentence.
    fn one_by_one(to: Dtype, saturates: bool, numbers: &[Number]) -> Result<(Vec<u8>, Report), String> {
        let (mut cast, mut out) = (Cast::new(to, saturates).expect("a target"), Vec::new());
        for &number in numbers {
            out.extend(&cast.element(number)?[..cast.width]);
        }
        Ok((out, cast.report))
    }

    /// Compares bytes, losses and errors. The order of the summands may differ.
    fn compare(
        what: &str,
        outcome: std::io::Result<(Vec<u8>, Report)>,
        expected: Result<(Vec<u8>, Report), String>,
    ) {
        match (outcome.map_err(|error| error.to_string()), expected) {
            (Ok((out, report)), Ok((expected, losses))) => {
                assert!(out == expected, "{what}");
                let [mean, other] = [report.mean_error(), losses.mean_error()];
                assert!((mean - other).abs() <= other * 1e-12, "{what}: {mean} {other}");
                let counts = |report: &Report| Report { errors: Default::default(), ..*report };
                assert_eq!(counts(&report), counts(&losses), "{what}");
            }
            (outcome, expected) => assert_eq!(outcome.err(), expected.err(), "{what}"),
        }
    }

    fn check(from: Dtype, to: Dtype, bytes: &[u8]) {
        let numbers = numbers(from, bytes);
        for saturates in [true, false] {
            let mut out = Vec::new();
            let report = Caster::new(from, to, saturates).expect("a target").cast(bytes, &mut out);
            let what = format!("{from} to {to}, {saturates}");
            compare(&what, report.map(|report| (out, report)), one_by_one(to, saturates, &numbers));
        }
    }

    fn sources() -> impl Iterator<Item = Dtype> {
        Dtype::ALL.iter().copied().filter(|dtype| *dtype != Dtype::C64)
    }

    fn targets() -> impl Iterator<Item = Dtype> {
        Dtype::ALL.iter().copied().filter(|dtype| can_be_target(*dtype))
    }

    #[test]
    fn chunks_are_cast_like_single_numbers() {
        for from in sources() {
            // All elements of up to 16 bits; random ones that are wider; and small ones.
            let width = usize::from(from.bits());
            let all: Vec<u8> = match width {
                8 => (0..=u8::MAX).cycle().take(ELEMENTS).collect(),
                16 => (0..=u16::MAX).flat_map(u16::to_le_bytes).collect(),
                _ => noise(ELEMENTS * width / 8, 1),
            };
            let mut small = noise(ELEMENTS * width / 8, 2);
            small.chunks_mut((width / 8).max(1)).for_each(|bytes| match bytes {
                [.., low, high] if is_integer(from) => (*low, *high) = (*low & 1, 0),
                [.., low, high] => (*low, *high) = (*low & 0x7F, (*high & 0x80) | (0x3D + (*high & 3))),
                _ => {}
            });
            for to in targets() {
                // 44 elements, of any width.
                for bytes in [&all[..], &small, &all[..44 * width / 8], &small[..44 * width / 8], &[]] {
                    check(from, to, bytes);
                }
            }
        }
    }

    /// Random numbers are rarely near the edges of a format.
    #[test]
    #[allow(clippy::cast_possible_truncation)]
    fn edges_are_cast_like_single_numbers() {
        let powers = (-160..=160).map(|exponent| f64::exp2(f64::from(exponent)));
        let steps = powers.flat_map(|power| (0..32).map(move |step| power * (1.0 + f64::from(step) / 32.0)));
        let quarters = (0..1000).map(|number| f64::from(number) / 4.0);
        let special = [0.0, f64::INFINITY, f64::NAN, f64::MAX, 5e-324];
        let doubles = steps.chain(quarters).chain(special).flat_map(|number| [number, -number]);
        let singles = doubles.clone().map(|number| number as f32);
        let doubles = doubles.flat_map(|one| [one.next_down(), one, one.next_up()]);
        let singles = singles.flat_map(|one| [one.next_down(), one, one.next_up()]);
        let doubles: Vec<u8> = doubles.flat_map(f64::to_le_bytes).collect();
        let singles: Vec<u8> = singles.flat_map(f32::to_le_bytes).collect();
        for to in targets() {
            check(Dtype::F64, to, &doubles);
            check(Dtype::F32, to, &singles);
        }
    }

    #[test]
    fn products_are_cast_like_single_numbers() {
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(2000).collect();
        let scales = [0.1, 3e38, -0.0, 1e-40, f32::NAN, 1.0, 7.5e-6];
        let scales = Scales { first: 301, each: 300, scales: scales.to_vec() };
        for to in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16] {
            let numbers = numbers(Dtype::I8, &bytes).into_iter().enumerate();
            let scale = |index: usize| scales.scales[index.saturating_sub(1) / 300];
            let products = numbers.map(|(at, one)| Number::Float(one.nearest() * f64::from(scale(at))));
            let products: Vec<Number> = products.collect();
            let mut out = Vec::new();
            let report =
                Caster::new(Dtype::I8, to, false).expect("a target").unscale(&bytes, &scales, &mut out);
            compare(&format!("{to}"), report.map(|report| (out, report)), one_by_one(to, false, &products));
        }
    }

    #[test]
    fn losses_are_added() {
        let bytes: Vec<u8> = noise(4 * ELEMENTS, 3);
        let mut caster = Caster::new(Dtype::F32, Dtype::F16, false).expect("a target");
        let (mut out, mut sum) = (Vec::new(), Report::default());
        for part in bytes.chunks(4 * 100) {
            sum.add(&caster.cast(part, &mut out).expect("infinities"));
        }
        let whole = caster.cast(&bytes, &mut out).expect("infinities");
        compare("sum", Ok((out.clone(), sum)), Ok((out, whole)));
    }

    /// A sample of all F32, or with `EVERY_F32` all of them, which takes minutes with optimisation.
    #[test]
    fn every_f32_is_cast_like_a_single_number() {
        let is_all = std::env::var_os("EVERY_F32").is_some();
        let (len, step) = if is_all { (1 << 20, 1 << 20) } else { (513, 1 << 23) };
        for first in (0..=u32::MAX).step_by(step) {
            let bytes: Vec<u8> = (first..=first + (len - 1)).flat_map(u32::to_le_bytes).collect();
            check(Dtype::F32, Dtype::F16, &bytes);
            check(Dtype::F32, Dtype::BF16, &bytes);
        }
    }
}
