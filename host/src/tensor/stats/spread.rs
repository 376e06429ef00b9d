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

/// Values of a range, and their number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cell {
    pub low: f64,
    pub high: f64,
    pub count: u64,
}

impl Cell {
    /// Of a value that occurs so many times; without the sign of a zero.
    pub fn of(value: f64, count: u64) -> Self {
        Self { low: value + 0.0, high: value + 0.0, count }
    }
}

impl Spread {
    /// Of cells in ascending order, each with values. None without cells.
    ///
    /// Quantiles are those of numpy's default method: linear between the two values next to the rank. A cell
    /// has its middle for all of its values.
    pub fn of(cells: impl Iterator<Item = Cell> + Clone) -> Option<Self> {
        let all: u64 = cells.clone().map(|cell| cell.count).sum();
        let last = all.checked_sub(1)?;
        let (mut left, mut before) = (cells.clone().peekable(), 0);
        // The cells around each rank, and how far it is from the first one.
        let places = QUANTILES.map(|share| {
            let rank = last as f64 * share;
            let below = whole(rank).min(last);
            while let Some(cell) = left.next_if(|cell| before + cell.count <= below) {
                before += cell.count;
            }
            let (mut two, share) = (left.clone(), rank - below as f64);
            let low = two.next().unwrap_or_default();
            let is_other = share > 0.0 && before + low.count == below + 1;
            (low, two.next().filter(|_| is_other).unwrap_or(low), share)
        });
        let middle = |cell: Cell| f64::midpoint(cell.low, cell.high);
        let quantiles = places.map(|(low, high, share)| between(middle(low), middle(high), share));
        // All values of the cells, so that the smallest and the largest of few are in the histogram.
        let [(Cell { low: from, .. }, ..), .., (_, Cell { high: to, .. }, _)] = places;
        let bars = bars(cells, from, to);
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
fn bars(cells: impl Iterator<Item = Cell>, from: f64, to: f64) -> [u64; BARS] {
    let mut bars = [0; BARS];
    let width = (to / BARS as f64) - (from / BARS as f64);
    // The whole distance may be larger than the largest number.
    let bar = |value: f64| {
        let bar = whole((value / 2.0 - from / 2.0) / (width / 2.0));
        usize::try_from(bar).unwrap_or(BARS).min(BARS - 1)
    };
    for Cell { low, high, count } in cells.filter(|cell| cell.low >= from && cell.high <= to) {
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
    use super::{BARS, Cell, Spread};

    fn of(values: &[f64]) -> Spread {
        Spread::of(values.iter().map(|value| Cell::of(*value, 1))).expect("values")
    }

    #[test]
    fn quantiles_of_the_largest_numbers_are_those_of_numpy() {
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
        // A cell of several bars.
        let cells = [Cell::of(0.0, 100), Cell { low: 0.0, high: 1.0, count: 2402 }, Cell::of(1.0, 100)];
        let spread = Spread::of(cells.into_iter()).expect("values");
        assert_eq!((spread.bars.iter().sum::<u64>(), spread.outside), (2602, 0));
        assert_eq!(spread.bars[2..BARS - 1], [100; BARS - 3], "{:?}", spread.bars);
    }
}
