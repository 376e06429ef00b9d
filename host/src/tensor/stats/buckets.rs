//! Wide numbers are counted in buckets, each as wide as a share of its values.

use crate::tensor::stats::part::{Edge, Part};
use crate::tensor::stats::scan::Scale;
use crate::tensor::stats::spread::Spread;
use embedded_safetensors::Dtype;

/// The bits of a mantissa that tell buckets apart.
const MANTISSA: u32 = 9;
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - MANTISSA;
const BIAS: usize = 1023;
const PER_EXPONENT: usize = 1 << MANTISSA;

/// The number of values in a block. Its sums do not depend on the number of threads.
const BLOCK: usize = 8 * 1024;

/// The middle of a bucket is at most this share away from its values.
pub const ERROR: f64 = 1.0 / 1024.0;

/// The buckets of negative and positive numbers, in ascending order. Next to each other in the middle are two
/// buckets of zeros.
pub struct Buckets {
    dtype: Dtype,
    /// The smallest bucket that is not zero, of all that doubles have.
    first: usize,
    /// The number of buckets of each sign.
    half: usize,
}

impl Buckets {
    /// For all values of a dtype.
    pub fn new(dtype: Dtype) -> Self {
        let [first, end] = match dtype {
            // From the smallest subnormal on.
            Dtype::F32 | Dtype::C64 => [(BIAS - 149) * PER_EXPONENT, (BIAS + 128) * PER_EXPONENT],
            Dtype::F64 => [1, (2 * BIAS + 1) * PER_EXPONENT],
            // An integer may round to 2^64.
            _ => [BIAS * PER_EXPONENT, (BIAS + 65) * PER_EXPONENT],
        };
        Self { dtype, first, half: end - first + 1 }
    }

    /// Counts finite numbers of the dtype.
    fn count_values(&self, values: &[f64], counts: &mut [u64]) {
        let (before, half) = (self.first - 1, self.half);
        for value in values {
            let bits = value.to_bits();
            let bucket = usize::try_from((bits << 1) >> (SHIFT + 1)).unwrap_or(usize::MAX);
            let bucket = bucket.saturating_sub(before);
            let index = if bits >> 63 == 0 { half + bucket } else { (half - 1).wrapping_sub(bucket) };
            if let Some(count) = counts.get_mut(index) {
                *count += 1;
            }
        }
    }

    /// The smallest and the largest number of a bucket.
    fn range(&self, index: usize) -> [f64; 2] {
        let is_negative = index < self.half;
        let bucket = if is_negative { self.half - 1 - index } else { index - self.half };
        let edge = |bucket: usize| match bucket {
            0 => 0.0,
            _ => f64::from_bits(((bucket + self.first - 1) as u64) << SHIFT).min(f64::MAX),
        };
        let [low, high] = [edge(bucket), edge(bucket + usize::from(bucket > 0))];
        if is_negative { [-high, -low] } else { [low, high] }
    }
}

impl Scale for Buckets {
    fn counters(&self) -> usize {
        2 * self.half
    }

    fn count(&self, bytes: &[u8], counts: &mut [u64], values: &mut Vec<f64>, part: &mut Part) {
        let width = if self.dtype == Dtype::C64 { 4 } else { usize::from(self.dtype.bits()) / 8 };
        for block in bytes.chunks(BLOCK * width) {
            part.merge(&Part::of(self.dtype, block, values));
            self.count_values(values, counts);
        }
    }

    fn finish(&self, counts: Vec<u64>, part: &mut Part) -> Option<Spread> {
        let [min, max] = [part.min, part.max].map(|edge| edge.map_or(0.0, Edge::nearest));
        Spread::of(counts, |index| {
            let [low, high] = self.range(index);
            [low.max(min), high.min(max)]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Buckets, ERROR};
    use crate::tensor::stats::scan::Scale;
    use embedded_safetensors::Dtype;

    #[test]
    fn the_middle_of_a_bucket_is_near_its_values_and_buckets_ascend() {
        let smallest = f64::from(f32::from_bits(1));
        let floats = [f32::MIN, -1.0, -0.1, -0.0, 0.1, 1.0, 1.999, 12345.678, 3e38].map(f64::from);
        let floats = [&floats[..3], &[-smallest], &floats[3..4], &[smallest], &floats[4..]].concat();
        let doubles = [f64::MIN, -1e308, 0.0, f64::MIN_POSITIVE, 1e-307, f64::MAX];
        let integers = [-9.2e18, -1.0, 0.0, 1.0, 9.3e18, 18_446_744_073_709_551_616.0];
        for (dtype, values) in [
            (Dtype::F32, &floats[..]),
            (Dtype::C64, &floats),
            (Dtype::F64, &doubles),
            (Dtype::U64, &integers),
            (Dtype::I32, &integers[1..4]),
        ] {
            let buckets = Buckets::new(dtype);
            let mut counts = vec![0; buckets.counters()];
            buckets.count_values(values, &mut counts);
            let counted = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            let ranges: Vec<[f64; 2]> = counted.map(|(index, _)| buckets.range(index)).collect();
            assert_eq!(ranges.len(), values.len(), "{dtype}");
            for (value, [low, high]) in values.iter().zip(ranges) {
                assert!(low <= *value && *value <= high, "{value} {low} {high}");
                let distance = (f64::midpoint(low, high) - value).abs();
                assert!(distance <= ERROR * value.abs(), "{value} {low} {high}");
            }
        }
    }
}
