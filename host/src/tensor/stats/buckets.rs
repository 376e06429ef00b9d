//! Counts of wide numbers in buckets, each as wide as a share of its values.

use crate::tensor::stats::bin_counts::{BinCounts, FULL};
use crate::tensor::stats::spread::Cell;
use embedded_safetensors::Dtype;

/// The bits of a mantissa that tell buckets apart.
const MANTISSA: u32 = 9;
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - MANTISSA;
const BIAS: usize = 1023;
const PER_EXPONENT: usize = 1 << MANTISSA;

/// The middle of a bucket is at most this share away from its values.
pub const ERROR: f64 = 1.0 / 1024.0;

/// Counters for positive and negative numbers. The first bucket of each sign is zero.
pub struct Buckets {
    /// The smallest bucket that is not zero, of all that doubles have.
    first: usize,
    /// The number of buckets of each sign.
    half: usize,
    counts: BinCounts,
}

impl Buckets {
    /// For all values of a dtype.
    pub fn new(dtype: Dtype) -> Self {
        let (first, end) = bounds(dtype);
        let half = end - first + 1;
        Self { first, half, counts: BinCounts::new(2 * half) }
    }

    /// The bytes that the counters of so many values of a dtype take at most.
    pub fn memory(dtype: Dtype, values: u64) -> usize {
        let (first, end) = bounds(dtype);
        2 * (end - first + 1) * (size_of::<u32>() + if values > FULL { size_of::<u64>() } else { 0 })
    }

    /// Counts finite numbers of the dtype.
    pub fn count(&mut self, values: &[f64]) {
        let counts = self.counts.for_more(values.len() as u64);
        let (before, half) = (self.first - 1, self.half);
        for value in values {
            let bits = value.to_bits();
            let bucket = usize::try_from((bits << 1) >> (SHIFT + 1)).unwrap_or(usize::MAX);
            let bucket = bucket.saturating_sub(before) + if bits >> 63 == 0 { 0 } else { half };
            if let Some(count) = counts.get_mut(bucket) {
                *count += 1;
            }
        }
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
    }

    /// All buckets with values, in ascending order.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + Clone {
        let cell = move |index: usize| {
            let count = self.counts.at(index);
            (count > 0).then(|| {
                let (is_negative, bucket) = (index >= self.half, index % self.half);
                let (low, high) = (self.edge(bucket), self.edge(bucket + usize::from(bucket > 0)));
                let (low, high) = if is_negative { (-high, -low) } else { (low, high) };
                Cell { low, high, count }
            })
        };
        (self.half..2 * self.half).rev().chain(0..self.half).filter_map(cell)
    }

    /// The smallest number of a bucket.
    fn edge(&self, bucket: usize) -> f64 {
        let bits = if bucket == 0 { 0 } else { ((bucket + self.first - 1) as u64) << SHIFT };
        f64::from_bits(bits).min(f64::MAX)
    }

    pub fn clear(&mut self) {
        self.counts.clear();
    }
}

/// The first bucket that is not zero, and the end of all, for the magnitudes of a dtype.
fn bounds(dtype: Dtype) -> (usize, usize) {
    let [least, most] = match dtype {
        // From the smallest subnormal on.
        Dtype::F32 | Dtype::C64 => [BIAS - 149, BIAS + 128],
        Dtype::F64 => return (1, (2 * BIAS + 1) * PER_EXPONENT),
        // An integer may round to 2^64.
        _ => [BIAS, BIAS + 65],
    };
    (least * PER_EXPONENT, most * PER_EXPONENT)
}

#[cfg(test)]
mod tests {
    use super::{Buckets, ERROR};
    use embedded_safetensors::Dtype;

    #[test]
    fn the_middle_of_a_bucket_is_near_its_values() {
        let smallest = f64::from(f32::from_bits(1));
        let floats = [1.0, 1.999, -1.0, -0.1, 3e38, f32::MIN, 0.1, 12345.678].map(f64::from);
        let floats = [&floats[..], &[smallest, -smallest]].concat();
        let doubles = [1e-307, -1e308, f64::MAX, f64::MIN, f64::MIN_POSITIVE];
        let integers = [1.0, -1.0, 9.3e18, -9.2e18, 18_446_744_073_709_551_616.0];
        for (dtype, values) in [
            (Dtype::F32, &floats[..]),
            (Dtype::C64, &floats),
            (Dtype::F64, &doubles),
            (Dtype::U64, &integers),
            (Dtype::I32, &integers[..2]),
        ] {
            for value in values {
                let mut buckets = Buckets::new(dtype);
                buckets.count(&[*value]);
                let [cell] = buckets.cells().collect::<Vec<_>>()[..] else {
                    panic!("{value} is in one bucket")
                };
                assert!(cell.low <= *value && *value <= cell.high, "{value} {cell:?}");
                let middle = f64::midpoint(cell.low, cell.high);
                assert!((middle / value - 1.0).abs() <= ERROR, "{value} {cell:?}");
            }
        }
    }

    #[test]
    fn cells_are_in_ascending_order() {
        let mut buckets = Buckets::new(Dtype::F32);
        buckets.count(&[2.0, -2.0, 0.0, -0.0, 0.5, -0.5, 2.0]);
        let cells: Vec<(f64, u64)> = buckets.cells().map(|cell| (cell.low, cell.count)).collect();
        let width = |value: f64| value * (1.0 + 1.0 / 512.0);
        assert_eq!(cells, [(width(-2.0), 1), (width(-0.5), 1), (0.0, 1), (0.0, 1), (0.5, 1), (2.0, 2)]);
    }

    #[test]
    fn counts_of_several_threads_and_of_many_values_are_added() {
        let mut buckets = Buckets::new(Dtype::I64);
        buckets.count(&[5.0; 3]);
        buckets.counts.fill_up();
        buckets.count(&[5.0; 4]);
        let mut other = Buckets::new(Dtype::I64);
        other.count(&[5.0; 2]);
        other.merge(&buckets);
        assert_eq!(other.cells().map(|cell| cell.count).collect::<Vec<_>>(), [9]);
        other.clear();
        assert!(other.cells().next().is_none());
    }
}
