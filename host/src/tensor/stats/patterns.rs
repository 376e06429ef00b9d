//! Elements of at most 16 bits: each bit pattern is counted.

use crate::tensor::stats::moments::Moments;
use crate::tensor::stats::part::{Part, decode};
use crate::tensor::stats::scan::Scale;
use crate::tensor::stats::spread::Spread;
use embedded_safetensors::Dtype;

/// Words of two bytes are counted, whatever elements they hold, and a byte that is left over; of elements of
/// six bits, pairs.
const WORDS: usize = 1 << 16;
/// The number of counters.
const COUNTERS: usize = WORDS + (1 << 8);

/// All bit patterns of a dtype.
pub struct Patterns {
    dtype: Dtype,
    bits: usize,
    /// The value of each pattern.
    values: Vec<f64>,
    /// The patterns of finite values, in ascending order of the values.
    order: Vec<usize>,
}

impl Patterns {
    pub fn new(dtype: Dtype) -> Self {
        let bits = usize::from(dtype.bits());
        let values = all_values(dtype, bits);
        let mut order: Vec<usize> =
            (0..values.len()).filter(|pattern| values[*pattern].is_finite()).collect();
        order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
        Self { dtype, bits, values, order }
    }

    /// A finite value, by its rank; without the sign of a zero.
    fn value(&self, index: usize) -> f64 {
        self.values[self.order[index]] + 0.0
    }

    /// How often each pattern occurs.
    fn of_elements(&self, counts: &[u64]) -> Vec<u64> {
        let mut all = vec![0; self.values.len()];
        let word = if self.bits == 6 { 12 } else { 16 };
        for (index, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (held, width) = if index < WORDS { (index, word) } else { (index - WORDS, 8) };
            for shift in (0..width).step_by(self.bits) {
                all[held >> shift & (self.values.len() - 1)] += count;
            }
        }
        all
    }
}

impl Scale for Patterns {
    fn counters(&self) -> usize {
        COUNTERS
    }

    fn count(&self, bytes: &[u8], counts: &mut [u64], _: &mut Vec<f64>, _: &mut Part) {
        let Some(counts) = counts.first_chunk_mut::<COUNTERS>() else { return };
        if self.bits == 6 {
            for [a, b, c] in bytes.as_chunks::<3>().0 {
                let four = u32::from_le_bytes([*a, *b, *c, 0]);
                counts[(four & 0xFFF) as usize] += 1;
                counts[(four >> 12) as usize] += 1;
            }
            return;
        }
        let (words, rest) = bytes.as_chunks::<2>();
        words.iter().for_each(|word| counts[usize::from(u16::from_le_bytes(*word))] += 1);
        rest.iter().for_each(|byte| counts[WORDS + usize::from(*byte)] += 1);
    }

    fn finish(&self, counts: Vec<u64>, part: &mut Part) -> Option<Spread> {
        let all = self.of_elements(&counts);
        for (value, &count) in self.values.iter().zip(&all) {
            part.values += count;
            part.is_finite(*value, count);
            part.zeros += if *value == 0.0 { count } else { 0 };
        }
        let counts: Vec<u64> = self.order.iter().map(|pattern| all[*pattern]).collect();
        let found = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let mut found = found.map(|(index, count)| (self.value(index), *count));
        part.moments = Moments::of_counted(found.clone());
        let edges = found.clone().next().zip(found.next_back());
        part.set_edges(self.dtype, edges.map(|((least, _), (largest, _))| [least, largest]));
        Spread::of(counts, |index| [self.value(index); 2])
    }
}

/// The values of all patterns.
fn all_values(dtype: Dtype, bits: usize) -> Vec<f64> {
    let (mut bytes, mut word, mut held) = (Vec::new(), 0, 0);
    for pattern in 0..1_u32 << bits {
        (word, held) = (word | pattern << held, held + bits);
        while held >= 8 {
            bytes.push(word.to_le_bytes()[0]);
            (word, held) = (word >> 8, held - 8);
        }
    }
    let mut values = Vec::new();
    decode(dtype, &bytes, &mut values);
    values
}

#[cfg(test)]
mod tests {
    use super::Patterns;
    use crate::tensor::stats::moments::Moments;
    use crate::tensor::stats::part::Part;
    use crate::tensor::stats::scan::Scale;
    use crate::tensor::stats::spread::Spread;
    use embedded_safetensors::Dtype;

    /// Against those of the same elements one by one.
    #[test]
    fn counted_elements_have_their_statistics() {
        for &dtype in Dtype::ALL.iter().filter(|dtype| dtype.bits() <= 16) {
            let len = if dtype.bits() > 8 { 6000 } else { 6003 };
            let bytes: Vec<u8> =
                (0..len).map(|index: u32| (index * index * 7 % 251).to_le_bytes()[0]).collect();
            let (patterns, mut values, mut part) = (Patterns::new(dtype), Vec::new(), Part::default());
            let mut counts = vec![0; patterns.counters()];
            bytes.chunks(1500).for_each(|chunk| patterns.count(chunk, &mut counts, &mut values, &mut part));
            let spread = patterns.finish(counts, &mut part);
            let expected = Part::of(dtype, &bytes, &mut values);
            values.sort_by(f64::total_cmp);
            let moments = Moments::of_counted(values.iter().map(|value| (*value, 1)));
            assert!((moments.deviation() / part.moments.deviation() - 1.0).abs() < 1e-14, "{dtype}");
            assert_eq!(
                (moments.mean(), &part),
                (part.moments.mean(), &Part { moments: part.moments, ..expected })
            );
            assert_eq!(spread, Spread::of(vec![1; values.len()], |index| [values[index]; 2]), "{dtype}");
        }
    }
}
