//! Counts values: narrow ones by their bit patterns, and wide ones in buckets, each as wide as a share of its
//! values.

use crate::tensor::stats::part::{Edge, Part, decode};
use crate::tensor::stats::spread::{Cell, Spread};
use embedded_safetensors::Dtype;

/// The bits of a double that tell buckets apart: sign, exponent, and some of the mantissa.
const MANTISSA: u32 = 9;
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - MANTISSA;
/// The middle of a bucket is at most this share away from its values.
pub const ERROR: f64 = 1.0 / 1024.0;

/// The counters that are made at once: in pages without values, there are none.
const PAGE: usize = 512;

/// The number of values in a block. Its sums do not depend on the number of threads.
const BLOCK: usize = 8 * 1024;

/// Up to so many values of wide elements are kept, and their quantiles are exact.
pub const FEW: u64 = 4096;

/// What is known about the elements of a span, or of consecutive ones.
pub struct Counts {
    dtype: Dtype,
    /// Of wide elements.
    part: Part,
    /// The first values of wide elements.
    first: Vec<f64>,
    /// A counter for each bit pattern of narrow elements, or for each bucket of wide ones.
    pages: Vec<Option<Box<[u64; PAGE]>>>,
}

impl Counts {
    pub fn new(dtype: Dtype) -> Self {
        let counters: usize = if dtype.bits() <= 16 { 1 << 16 } else { 1 << (64 - SHIFT) };
        Self { dtype, part: Part::default(), first: Vec::new(), pages: vec![None; counters / PAGE] }
    }

    /// Counts whole elements.
    pub fn count(&mut self, bytes: &[u8]) {
        match usize::from(self.dtype.bits()) {
            4 => self.count_patterns::<1, 4>(bytes),
            6 => self.count_patterns::<3, 6>(bytes),
            8 => self.count_patterns::<1, 8>(bytes),
            16 => self.count_patterns::<2, 16>(bytes),
            bits => {
                let width = if self.dtype == Dtype::C64 { 4 } else { bits / 8 };
                let mut values = Vec::new();
                for block in bytes.chunks(BLOCK * width) {
                    decode(self.dtype, block, &mut values);
                    let mut part = Part::of(self.dtype, &mut values, |value| (value, 1));
                    part.set_integers(self.dtype, block);
                    self.part.merge(&part);
                    values.iter().for_each(|value| self.add((order_of(value.to_bits()) >> SHIFT) as usize));
                    if self.first.is_empty() && self.part.values <= FEW {
                        self.first.clone_from(&values);
                    }
                }
            }
        }
    }

    /// Counts elements of so many bits, whole ones in so many bytes.
    fn count_patterns<const BYTES: usize, const BITS: usize>(&mut self, bytes: &[u8]) {
        for bytes in bytes.as_chunks::<BYTES>().0 {
            let mut word = [0; 4];
            word[..BYTES].copy_from_slice(bytes);
            let word = u32::from_le_bytes(word) as usize;
            (0..BYTES * 8 / BITS).for_each(|number| self.add(word >> (number * BITS) & ((1 << BITS) - 1)));
        }
    }

    fn add(&mut self, counter: usize) {
        self.pages[counter / PAGE].get_or_insert_with(|| Box::new([0; PAGE]))[counter % PAGE] += 1;
    }

    /// Adds the elements that follow.
    pub fn merge(&mut self, other: Self) {
        self.part.merge(&other.part);
        for (page, other) in self.pages.iter_mut().zip(other.pages) {
            let Some(other) = other else { continue };
            let counters = page.get_or_insert_with(|| Box::new([0; PAGE])).iter_mut();
            counters.zip(*other).for_each(|(count, other)| *count += other);
        }
    }

    /// The counters that are not 0, with their indexes.
    fn counted(&self) -> impl Iterator<Item = (usize, u64)> + Clone {
        let pages = self.pages.iter().enumerate().filter_map(|(number, page)| Some((number, page.as_ref()?)));
        let all = pages.flat_map(|(number, page)| (number * PAGE..).zip(page.iter().copied()));
        all.filter(|(_, count)| *count > 0)
    }

    /// Returns what is known about all values, and the distribution of the finite ones, if there are any.
    pub fn finish(mut self) -> (Part, Option<Spread>) {
        let spread = match usize::from(self.dtype.bits()) {
            bits @ ..=16 => {
                let mut values = self.narrow(bits);
                self.part = Part::of(self.dtype, &mut values, |counted| counted);
                values.sort_unstable_by(|(one, _), (other, _)| one.total_cmp(other));
                Spread::of(values.iter().map(|(value, count)| Cell::of(*value, *count)))
            }
            _ if self.part.values <= FEW => {
                self.first.sort_unstable_by(f64::total_cmp);
                Spread::of(self.first.iter().map(|value| Cell::of(*value, 1)))
            }
            _ => Spread::of(self.buckets()),
        };
        (self.part, spread)
    }

    /// The values of narrow elements, and how often each occurs.
    fn narrow(&self, bits: usize) -> Vec<(f64, u64)> {
        let width = if bits == 6 { 3 } else { bits.div_ceil(8) };
        let bytes = self.counted().flat_map(|(pattern, _)| pattern.to_le_bytes().into_iter().take(width));
        let mut values = Vec::new();
        decode(self.dtype, &bytes.collect::<Vec<_>>(), &mut values);
        // The elements beside the first one of these bytes are 0.
        values.into_iter().step_by(width * 8 / bits).zip(self.counted().map(|(_, count)| count)).collect()
    }

    /// The buckets with values, in ascending order.
    fn buckets(&self) -> impl Iterator<Item = Cell> + Clone {
        let [min, max] = [self.part.min, self.part.max].map(|edge| edge.map_or(0.0, Edge::nearest));
        self.counted().map(move |(bucket, count)| {
            let order = (bucket as u64) << SHIFT;
            let near = if order >> 63 == 0 { !order >> SHIFT << SHIFT } else { order & !(1 << 63) };
            // Zeros share their bucket with the smallest subnormal numbers.
            let width = u64::from(near << 1 != 0) << SHIFT;
            let [near, far] = [near, near + width].map(|bits| f64::from_bits(bits).clamp(min, max));
            Cell { low: near.min(far) + 0.0, high: near.max(far) + 0.0, count }
        })
    }
}

/// Bits that sort as the doubles do.
fn order_of(bits: u64) -> u64 {
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

#[cfg(test)]
mod tests {
    use super::{Counts, ERROR};
    use crate::tensor::stats::spread::Cell;
    use embedded_safetensors::Dtype;

    #[test]
    fn the_middle_of_a_bucket_is_near_its_values_and_buckets_ascend() {
        let smallest = f64::from(f32::from_bits(1));
        let values =
            [f64::MIN, -1e308, -1.0, -0.1, -smallest, 0.0, f64::MIN_POSITIVE, 1e-307, smallest, 0.1, 1.0]
                .into_iter()
                .chain([1.999, 12345.678, 9.3e18, 18_446_744_073_709_551_616.0, f64::MAX]);
        let values: Vec<f64> = values.collect();
        let cells = |values: &[f64]| -> Vec<Cell> {
            let mut counts = Counts::new(Dtype::F64);
            counts.count(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>());
            counts.buckets().collect()
        };
        let counted = cells(&values);
        assert_eq!(counted.len(), values.len());
        for (value, Cell { low, high, .. }) in values.iter().zip(counted) {
            assert!(low <= *value && *value <= high, "{value} {low} {high}");
            let distance = (f64::midpoint(low, high) - value).abs();
            assert!(distance <= ERROR * value.abs(), "{value} {low} {high}");
        }
        // Numbers that share the bucket of zero.
        let least = f64::from_bits(1);
        assert_eq!(cells(&[least; 2]), [Cell::of(least, 2)]);
    }
}
