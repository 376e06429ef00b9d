//! Elements of at most 16 bits: each bit pattern is counted, so that everything about them is exact.

use crate::tensor::stats::aggregate::Aggregate;
use crate::tensor::stats::bin_counts::BinCounts;
use crate::tensor::stats::moments::{Moments, Sum};
use crate::tensor::stats::spread::Cell;
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::{Decoder, Number};

/// The largest width whose patterns are counted.
pub const WIDEST: u8 = 16;

/// The values of all bit patterns of a dtype.
pub struct Codes {
    bits: usize,
    values: Vec<f64>,
    /// The patterns of finite values, in ascending order of the values.
    order: Vec<u16>,
}

impl Codes {
    pub fn new(dtype: Dtype) -> Self {
        let bits = usize::from(dtype.bits());
        let values = decoded(dtype, bits);
        let finite = (0..=u16::MAX).zip(&values).filter(|(_, value)| value.is_finite());
        let mut order: Vec<u16> = finite.map(|(pattern, _)| pattern).collect();
        order.sort_by(|one, other| values[usize::from(*one)].total_cmp(&values[usize::from(*other)]));
        Self { bits, values, order }
    }

    /// Counters for every pattern.
    pub fn counters(&self) -> Counters {
        // For 16 bits there are two for each, because one counter cannot be raised in every cycle.
        Counters { bits: self.bits, counts: BinCounts::new(2 << self.bits.max(8)) }
    }

    /// Whether there are so many patterns that sorting a few elements is faster than counting them.
    pub fn are_many(&self) -> bool {
        self.bits == 16
    }

    /// The statistics of the counted elements, and the cells of their values.
    pub fn summary(&self, counters: &Counters) -> (Aggregate, Vec<Cell>) {
        let mut all = Aggregate::default();
        for (pattern, value) in self.values.iter().enumerate() {
            count_value(&mut all, *value, counters.of(pattern));
        }
        let cells = self.order.iter().map(|pattern| usize::from(*pattern));
        let cells = cells.map(|pattern| Cell::exact(self.values[pattern] + 0.0, counters.of(pattern)));
        of_cells(all, cells.filter(|cell| cell.count > 0).collect())
    }

    /// The same of a few elements of 16 bits.
    pub fn summary_of_few(&self, bytes: &[u8]) -> (Aggregate, Vec<Cell>) {
        let mut all = Aggregate::default();
        let patterns = bytes.as_chunks::<2>().0.iter();
        let mut values: Vec<f64> =
            patterns.map(|bytes| self.values[usize::from(u16::from_le_bytes(*bytes))] + 0.0).collect();
        values.iter().for_each(|value| count_value(&mut all, *value, 1));
        values.retain(|value| value.is_finite());
        values.sort_unstable_by(f64::total_cmp);
        let equal = values.chunk_by(|one, other| one == other);
        of_cells(all, equal.map(|equal| Cell::exact(equal[0], equal.len() as u64)).collect())
    }
}

fn count_value(all: &mut Aggregate, value: f64, count: u64) {
    all.values += count;
    match value {
        value if value.is_finite() => {}
        value if value.is_nan() => all.nan += count,
        value if value > 0.0 => all.positive += count,
        _ => all.negative += count,
    }
}

/// Adds what is known from the cells of all finite values.
fn of_cells(all: Aggregate, cells: Vec<Cell>) -> (Aggregate, Vec<Cell>) {
    let all = Aggregate {
        zeros: cells.iter().filter(|cell| cell.low == 0.0).map(|cell| cell.count).sum(),
        moments: moments(&cells),
        least: cells.first().map(|cell| Number::Float(cell.low)),
        largest: cells.last().map(|cell| Number::Float(cell.low)),
        ..all
    };
    (all, cells)
}

/// Narrow integers are doubles here, too.
fn decoded(dtype: Dtype, bits: usize) -> Vec<f64> {
    let patterns: Vec<u8> = match bits {
        4 => (0..8).map(|pair: u8| pair << 1 | (pair << 1 | 1) << 4).collect(),
        6 => (0..16_u32).flat_map(four_of_six).collect(),
        8 => (0..=u8::MAX).collect(),
        _ => (0..=u16::MAX).flat_map(u16::to_le_bytes).collect(),
    };
    let mut values = Vec::new();
    match Decoder::new(dtype).decode(&patterns, &mut values) {
        Ok(()) => values,
        Err(_) => Vec::new(),
    }
}

/// The bytes of four elements of six bits, which are the patterns from `4 * group` on.
fn four_of_six(group: u32) -> [u8; 3] {
    let word = (0..4).fold(0, |word, index| word | (4 * group + index) << (6 * index));
    let [a, b, c, _] = word.to_le_bytes();
    [a, b, c]
}

/// How often each pattern occurs.
pub struct Counters {
    bits: usize,
    counts: BinCounts,
}

impl Counters {
    /// Counts the elements of these bytes, of which none is cut.
    pub fn count(&mut self, bytes: &[u8]) {
        let counts = self.counts.for_more(bytes.len() as u64);
        match self.bits {
            4 | 8 => count_bytes(counts, bytes),
            6 => count_sixes(counts, bytes),
            _ => count_words(counts, bytes),
        }
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
    }

    fn of(&self, pattern: usize) -> u64 {
        let both = |index: usize| self.counts.at(index) + self.counts.at(index + self.counts.len() / 2);
        match self.bits {
            4 => (0..16).map(|other| both(pattern | other << 4) + both(other | pattern << 4)).sum(),
            _ => both(pattern),
        }
    }

    pub fn clear(&mut self) {
        self.counts.clear();
    }
}

/// Of elements of four bits, the pairs are counted.
fn count_bytes(counts: &mut [u32], bytes: &[u8]) {
    let (one, other) = counts.split_at_mut(256);
    let pairs = bytes.chunks_exact(2);
    for byte in pairs.remainder() {
        one[usize::from(*byte)] += 1;
    }
    for pair in pairs {
        one[usize::from(pair[0])] += 1;
        other[usize::from(pair[1])] += 1;
    }
}

fn count_words(counts: &mut [u32], bytes: &[u8]) {
    let (one, other) = counts.split_at_mut(1 << 16);
    let (Some(one), Some(other)) = (one.first_chunk_mut(), other.first_chunk_mut()) else { return };
    let (one, other): (&mut [u32; 1 << 16], &mut [u32; 1 << 16]) = (one, other);
    let (pairs, rest) = bytes.as_chunks::<4>();
    for [a, b, c, d] in pairs {
        one[usize::from(u16::from_le_bytes([*a, *b]))] += 1;
        other[usize::from(u16::from_le_bytes([*c, *d]))] += 1;
    }
    if let [a, b, ..] = rest {
        one[usize::from(u16::from_le_bytes([*a, *b]))] += 1;
    }
}

/// Four elements take three bytes. A tensor of them is whole groups.
fn count_sixes(counts: &mut [u32], bytes: &[u8]) {
    for [a, b, c] in bytes.as_chunks::<3>().0 {
        let word = u32::from_le_bytes([*a, *b, *c, 0]);
        for shift in [0, 6, 12, 18] {
            counts[(word >> shift & 63) as usize] += 1;
        }
    }
}

/// Of exact cells, in two passes.
fn moments(cells: &[Cell]) -> Moments {
    let (mut sum, mut count) = (Sum::default(), 0);
    for cell in cells {
        sum.add(cell.low * cell.count as f64);
        count += cell.count;
    }
    let mean = sum.total() / (count.max(1) as f64);
    let mut squares = Sum::default();
    cells.iter().for_each(|cell| squares.add((cell.low - mean) * (cell.low - mean) * cell.count as f64));
    Moments::new(count, sum, squares.total())
}

#[cfg(test)]
mod tests {
    use super::{Codes, WIDEST};
    use crate::tensor::stats::spread::Cell;
    use embedded_safetensors::Dtype;
    use safetensors_convert::numbers::Decoder;

    /// Against the decoder of the library, element by element.
    #[test]
    fn patterns_have_the_values_that_the_library_decodes() {
        let narrow = Dtype::ALL.iter().filter(|dtype| dtype.bits() <= WIDEST);
        for &dtype in narrow {
            let bytes: Vec<u8> =
                (0..6000_u32).map(|index| (index * index * 7 % 251).to_le_bytes()[0]).collect();
            let mut values = Vec::<f64>::new();
            Decoder::new(dtype).decode(&bytes, &mut values).expect("whole elements");
            let codes = Codes::new(dtype);
            let mut counters = codes.counters();
            bytes.chunks(1500).for_each(|chunk| counters.count(chunk));
            let (part, cells) = codes.summary(&counters);
            let count = |is: fn(&&f64) -> bool| values.iter().filter(is).count() as u64;
            assert_eq!(part.values, values.len() as u64, "{dtype}");
            assert_eq!(part.nan, count(|value| value.is_nan()), "{dtype}");
            assert_eq!(part.zeros, count(|value| **value == 0.0), "{dtype}");
            assert_eq!(
                (part.positive, part.negative),
                (count(|value| **value == f64::INFINITY), count(|value| **value == f64::NEG_INFINITY),),
                "{dtype}"
            );
            let mut finite = values;
            finite.retain(|value| value.is_finite());
            finite.sort_by(f64::total_cmp);
            let listed = cells
                .iter()
                .flat_map(|cell| std::iter::repeat_n(cell.low, usize::try_from(cell.count).unwrap_or(0)));
            assert!(listed.eq(finite.iter().copied()), "{dtype}");
        }
    }

    #[test]
    fn few_elements_have_the_statistics_of_counted_ones() {
        for dtype in [Dtype::F16, Dtype::BF16, Dtype::I16, Dtype::U16] {
            let codes = Codes::new(dtype);
            let bytes: Vec<u8> =
                (0..6000_u32).map(|index| (index * index * 7 % 251).to_le_bytes()[0]).collect();
            for bytes in [&bytes[..], &bytes[..2], &[0, 0x7C, 0, 0, 0, 0x80, 0xFF, 0xFF, 0x80, 0x7F]] {
                let mut counters = codes.counters();
                counters.count(bytes);
                let ((counted, cells), (sorted, sorted_cells)) =
                    (codes.summary(&counters), codes.summary_of_few(bytes));
                assert_eq!(counted, sorted, "{dtype}");
                let listed = |cells: Vec<Cell>| -> Vec<f64> {
                    let repeat =
                        |cell: Cell| std::iter::repeat_n(cell.low, usize::try_from(cell.count).unwrap_or(0));
                    cells.into_iter().flat_map(repeat).collect()
                };
                assert_eq!(listed(cells), listed(sorted_cells), "{dtype}");
            }
        }
    }

    #[test]
    fn counts_that_do_not_fit_are_carried() {
        let codes = Codes::new(Dtype::BF16);
        let (mut counters, mut other) = (codes.counters(), codes.counters());
        counters.count(&[0x80, 0x3F, 0x80, 0x3F, 0x80, 0x3F]);
        counters.counts.fill_up();
        counters.count(&[0x80, 0x3F]);
        other.count(&[0x80, 0x3F]);
        other.merge(&counters);
        let (part, cells) = codes.summary(&other);
        assert_eq!((part.values, cells.len(), cells[0].low, cells[0].count), (5, 1, 1.0, 5));
    }
}
