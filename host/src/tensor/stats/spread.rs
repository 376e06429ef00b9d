//! Quantiles and a histogram of counted values.

use serde::Serialize;

/// The quantiles of every tensor.
pub const QUANTILES: [f64; 9] = [0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999];
/// The number of bars of a histogram.
const BARS: usize = 24;

/// The distribution of finite values: their quantiles, and a histogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    #[serde(skip)]
    pub quantiles: [f64; QUANTILES.len()],
    /// The range of the histogram.
    from: f64,
    to: f64,
    #[serde(rename = "counts")]
    pub bars: [u64; BARS],
    /// The number of values that no bar counts.
    outside: u64,
}

impl Spread {
    /// Of values counted in cells, which are in ascending order. `range` returns the smallest and the largest
    /// value that a cell may have. None without values.
    ///
    /// Quantiles are those of numpy's default method: linear between the two values next to the rank.
    pub fn of(counts: Vec<u64>, range: impl Fn(usize) -> [f64; 2]) -> Option<Self> {
        let (mut ends, mut all) = (counts, 0);
        for end in &mut ends {
            all += *end;
            *end = all;
        }
        let last = all.checked_sub(1)?;
        // A bucket has its middle for all of its values.
        let cell = |rank: u64| range(ends.partition_point(|end| *end <= rank));
        let value = |rank| {
            let [low, high] = cell(rank);
            low + (high - low) / 2.0
        };
        let rank = |share: f64| last as f64 * share;
        let quantiles = QUANTILES.map(|share| {
            let below = whole(rank(share)).min(last);
            between(value(below), value((below + 1).min(last)), rank(share) - below as f64)
        });
        // All values of the cells, so that the smallest and the largest of few are in the histogram.
        let [from, _] = cell(whole(rank(QUANTILES[0])));
        let [_, to] = cell(whole(rank(QUANTILES[QUANTILES.len() - 1]).ceil()).min(last));
        let counts = ends.iter().scan(0, |before, &end| Some(end - std::mem::replace(before, end)));
        let cells = counts.enumerate().filter(|(_, count)| *count > 0);
        let bars = bars(cells.map(|(index, count)| (range(index), count)), from, to);
        Some(Self { quantiles, from, to, bars, outside: all - bars.iter().sum::<u64>() })
    }
}

/// As numpy computes it, so that its last digit is the same.
fn between(low: f64, high: f64, share: f64) -> f64 {
    let distance = high - low;
    if distance.is_infinite() {
        return low * (1.0 - share) + high * share;
    }
    if share >= 0.5 { high - distance * (1.0 - share) } else { low + distance * share }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank is not negative")]
fn whole(rank: f64) -> u64 {
    rank as u64
}

/// The number of values in each of equal parts of the range. A cell of several parts is spread over them.
fn bars(cells: impl Iterator<Item = ([f64; 2], u64)>, from: f64, to: f64) -> [u64; BARS] {
    let mut bars = [0; BARS];
    let width = (to / BARS as f64) - (from / BARS as f64);
    let bar = |value: f64| {
        let distance = value - from;
        let bar = match width > 0.0 {
            true if distance.is_finite() => whole(distance / width),
            // The same for a range that is larger than the largest number.
            true => whole(value / width - from / width),
            false => 0,
        };
        usize::try_from(bar).unwrap_or(BARS).min(BARS - 1)
    };
    for ([low, high], count) in cells.filter(|([low, high], _)| *low >= from && *high <= to) {
        let (first, last) = (bar(low), bar(high));
        let parts = (last - first + 1) as u64;
        for (number, bar) in (0..).zip(&mut bars[first..=last]) {
            *bar += count / parts + u64::from(number < count % parts);
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::{BARS, Spread};

    fn of(values: &[f64]) -> Spread {
        Spread::of(vec![1; values.len()], |index| [values[index]; 2]).expect("values")
    }

    #[test]
    fn quantiles_are_those_of_numpy() {
        // np.quantile([1, 2, 4, 8, 16], [0.001, 0.05, 0.5, 0.95])
        let [thousandth, _, twentieth, _, median, _, high, ..] = of(&[1.0, 2.0, 4.0, 8.0, 16.0]).quantiles;
        assert_eq!([thousandth, twentieth, median, high], [1.004, 1.2, 4.0, 14.399_999_999_999_999]);
        let far = 1.7e308;
        let medians = [&[-far, far][..], &[-far, -far, far], &[-far, far, far]];
        assert_eq!(medians.map(|values| of(values).quantiles[4]), [0.0, -far, far]);
    }

    #[test]
    fn bars_count_every_value_in_their_range() {
        let values: Vec<f64> = (0..=2400).map(f64::from).collect();
        let spread = of(&values);
        assert_eq!((spread.from, spread.to, spread.outside), (2.0, 2398.0, 4));
        assert!(spread.bars.iter().all(|bar| (99..=101).contains(bar)), "{:?}", spread.bars);
        assert_eq!(of(&[5.0; 3]).bars[0], 3);
        for values in [&[1.0, 3.0][..], &[1.0, 2.0, 4.0, 8.0], &[-1.7e308, -1e307, 1.7e308]] {
            let spread = of(values);
            assert_eq!((spread.from, spread.to, spread.outside), (values[0], values[values.len() - 1], 0));
            assert!(spread.bars[0] > 0 && spread.bars[BARS - 1] > 0, "{spread:?}");
        }
        assert_eq!(of(&[-1.7e308, -1e307, 1.7e308]).bars[BARS / 2 - 1], 1);
    }

    #[test]
    fn a_wide_cell_is_spread_over_its_bars() {
        let ranges = [[0.0; 2], [0.0, 1.0], [1.0; 2]];
        let spread = Spread::of(vec![100, 2402, 100], |index| ranges[index]).expect("values");
        assert_eq!((spread.bars.iter().sum::<u64>(), spread.outside), (2602, 0));
        assert_eq!(spread.bars[2..BARS - 1], [100; BARS - 3], "{:?}", spread.bars);
    }
}
