//! Counts values: narrow ones by their bit patterns, and wide ones in buckets, each as wide as a share of its
//! values.

use crate::tensor::stats::moments::Moments;
use crate::tensor::stats::part::{Edge, Part, decode};
use crate::tensor::stats::spread::{Cell, Spread};
use embedded_safetensors::Dtype;

/// The bits of a mantissa that tell buckets apart.
const MANTISSA: u32 = 9;
const BUCKETS: usize = 1 << MANTISSA;
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - MANTISSA;
/// The signs and exponents of doubles; the negative ones are in the second half.
const PAGES: usize = 1 << 12;
/// The middle of a bucket is at most this share away from its values.
pub const ERROR: f64 = 1.0 / 1024.0;

/// The number of values in a block. Its sums do not depend on the number of threads.
const BLOCK: usize = 8 * 1024;

/// Up to so many values of wide elements are kept, and their quantiles are exact.
pub const FEW: u64 = 4096;

/// Counters of narrow elements are one page. Those of wide ones have a page of buckets for each sign and
/// exponent that occurs; the other pages are empty. Those of a span have half of the width.
#[derive(Default)]
pub struct Counts<T> {
    pages: Vec<Vec<T>>,
    /// The first values of wide elements.
    first: Vec<f64>,
}

impl Counts<u32> {
    /// Adds a block of finite values to their buckets.
    fn add(&mut self, values: &[f64]) {
        if self.first.is_empty() {
            self.first = values.to_vec();
        }
        for bits in values.iter().map(|value| value.to_bits()) {
            let page = &mut self.pages[(bits >> (SHIFT + MANTISSA)) as usize];
            if page.is_empty() {
                page.resize(BUCKETS, 0);
            }
            page[(bits >> SHIFT) as usize % BUCKETS] += 1;
        }
    }
}

impl Counts<u64> {
    pub fn merge(&mut self, other: Counts<u32>) {
        self.pages.resize(other.pages.len(), Vec::new());
        for (page, other) in self.pages.iter_mut().zip(other.pages) {
            page.resize(other.len().max(page.len()), 0);
            page.iter_mut().zip(other).for_each(|(count, other)| *count += u64::from(other));
        }
    }
}

impl<T: Copy + Into<u64>> Counts<T> {
    /// The buckets with values, in ascending order. No value is outside of these edges.
    fn cells(&self, [min, max]: [f64; 2]) -> impl Iterator<Item = Cell> + Clone {
        let page = move |page: usize| {
            let counts = self.pages[page].iter().enumerate();
            counts.map(move |(at, count)| (page * BUCKETS + at, (*count).into()))
        };
        let negative = (PAGES / 2..PAGES).rev().flat_map(move |number| page(number).rev());
        let all = negative.chain((0..PAGES / 2).flat_map(page)).filter(|(_, count)| *count > 0);
        all.map(move |(index, count): (usize, u64)| {
            let index = index as u64;
            // Zeros share their bucket with the smallest subnormal numbers.
            let is_zero = index.is_multiple_of((PAGES * BUCKETS / 2) as u64);
            let [near, far] = [index, index + u64::from(!is_zero)];
            let [near, far] = [near, far].map(|index| f64::from_bits(index << SHIFT).clamp(min, max));
            Cell { low: near.min(far), high: near.max(far), count }
        })
    }
}

/// How the elements of a dtype are counted.
pub struct Scale {
    dtype: Dtype,
    /// The elements of each counted word.
    per_word: usize,
    /// Their values in all words; none of elements wider than 16 bits.
    values: Vec<f64>,
}

impl Scale {
    pub fn of(dtype: Dtype) -> Self {
        let bits = usize::from(dtype.bits());
        // A word of six bits is two of the four elements in three bytes. Bytes have four counters each.
        let (words, width, per_word) = match bits {
            6 => (1 << 12, 3, 2),
            ..=8 => (4 << 8, 1, 8 / bits),
            16 => (1 << 16, 2, 1),
            _ => (0, 1, 1),
        };
        let bytes: Vec<u8> =
            (0..words).flat_map(|word: u32| word.to_le_bytes().into_iter().take(width)).collect();
        let mut values = Vec::new();
        decode(dtype, &bytes, &mut values);
        let words = values.chunks((width * 8 / bits).max(1));
        Self { dtype, per_word, values: words.flat_map(|word| &word[..per_word]).copied().collect() }
    }

    /// Counters of a span.
    pub fn counts(&self) -> Counts<u32> {
        let words = self.values.len() / self.per_word;
        let pages = if words > 0 { vec![vec![0; words]] } else { vec![Vec::new(); PAGES] };
        Counts { pages, first: Vec::new() }
    }

    /// Counts whole elements. `part` gets what the counters do not tell.
    pub fn count(&self, bytes: &[u8], counts: &mut Counts<u32>, part: &mut Part) {
        let words = &mut counts.pages[0];
        match usize::from(self.dtype.bits()) {
            6 => {
                for [a, b, c] in bytes.as_chunks::<3>().0 {
                    let four = u32::from_le_bytes([*a, *b, *c, 0]);
                    words[(four & 0xFFF) as usize] += 1;
                    words[(four >> 12) as usize] += 1;
                }
            }
            ..=8 => {
                // As an array, which needs no checks of the index.
                let Some(words) = words.first_chunk_mut::<{ 4 << 8 }>() else { return };
                let (fours, rest) = bytes.as_chunks::<4>();
                for four in fours {
                    for (table, byte) in four.iter().enumerate() {
                        words[table * 256 + usize::from(*byte)] += 1;
                    }
                }
                rest.iter().for_each(|byte| words[usize::from(*byte)] += 1);
            }
            16 => {
                let Some(words) = words.first_chunk_mut::<{ 1 << 16 }>() else { return };
                let pairs = bytes.as_chunks::<2>().0.iter();
                pairs.for_each(|word| words[usize::from(u16::from_le_bytes(*word))] += 1);
            }
            bits => {
                let width = if self.dtype == Dtype::C64 { 4 } else { bits / 8 };
                let mut values = Vec::new();
                for block in bytes.chunks(BLOCK * width) {
                    part.merge(&Part::of(self.dtype, block, &mut values));
                    counts.add(&values);
                }
            }
        }
    }

    /// Completes a part, and returns the distribution of its finite values, if there are any.
    pub fn finish<T: Copy + Into<u64>>(&self, mut counts: Counts<T>, part: &mut Part) -> Option<Spread> {
        if self.values.is_empty() && part.values <= FEW {
            counts.first.sort_unstable_by(f64::total_cmp);
            return Spread::of(counts.first.iter().map(|value| Cell::of(*value, 1)));
        }
        if self.values.is_empty() {
            return Spread::of(
                counts.cells([part.min, part.max].map(|edge| edge.map_or(0.0, Edge::nearest))),
            );
        }
        let counted = counts.pages[0].iter().map(|count| (*count).into()).enumerate();
        let words = counted.filter(|(_, count)| *count > 0);
        let values = words.flat_map(|(word, count)| {
            self.values[word * self.per_word..][..self.per_word].iter().map(move |value| (*value, count))
        });
        let mut cells = Vec::new();
        for (value, count) in values {
            part.values += count;
            part.zeros += if value == 0.0 { count } else { 0 };
            if part.is_finite(value, count) {
                cells.push(Cell::of(value, count));
            }
        }
        cells.sort_by(|one, other| one.low.total_cmp(&other.low));
        part.moments = Moments::of_counted(cells.iter().map(|cell| (cell.low, cell.count)));
        part.set_edges(
            self.dtype,
            cells.first().zip(cells.last()).map(|(least, most)| [least.low, most.low]),
        );
        Spread::of(cells.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::{ERROR, Scale};
    use crate::tensor::stats::spread::Cell;
    use embedded_safetensors::Dtype;

    #[test]
    fn the_middle_of_a_bucket_is_near_its_values_and_buckets_ascend() {
        let smallest = f64::from(f32::from_bits(1));
        let values =
            [f64::MIN, -1e308, -1.0, -0.1, -smallest, -0.0, 0.0, f64::MIN_POSITIVE, 1e-307, smallest]
                .into_iter()
                .chain([0.1, 1.0, 1.999, 12345.678, 9.3e18, 18_446_744_073_709_551_616.0, f64::MAX]);
        let values: Vec<f64> = values.collect();
        let cells = |values: &[f64], edges| -> Vec<Cell> {
            let mut counts = Scale::of(Dtype::F64).counts();
            counts.add(values);
            counts.cells(edges).collect()
        };
        let counted = cells(&values, [f64::MIN, f64::MAX]);
        assert_eq!(counted.len(), values.len());
        for (value, Cell { low, high, .. }) in values.iter().zip(counted) {
            assert!(low <= *value && *value <= high, "{value} {low} {high}");
            let distance = (f64::midpoint(low, high) - value).abs();
            assert!(distance <= ERROR * value.abs(), "{value} {low} {high}");
        }
        // Numbers that share the bucket of zero.
        let least = f64::from_bits(1);
        assert_eq!(cells(&[least; 2], [least; 2]), [Cell::of(least, 2)]);
    }
}
