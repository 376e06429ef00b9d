//! Quantiles and a histogram of counted values.

/// The quantiles of every tensor.
pub const QUANTILES: [f64; 9] = [0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999];
/// The number of bars of a histogram.
pub const BARS: usize = 24;

/// Values that are counted together: all of them are in this range, which has one value if it is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    pub low: f64,
    pub high: f64,
    pub count: u64,
}

impl Cell {
    /// Equal values.
    pub fn exact(value: f64, count: u64) -> Self {
        Self { low: value, high: value, count }
    }

    /// All values are known to be in this range.
    fn within(self, least: f64, largest: f64) -> Self {
        Self { low: self.low.max(least), high: self.high.min(largest), ..self }
    }

    fn middle(&self) -> f64 {
        self.low + (self.high - self.low) / 2.0
    }
}

/// The distribution of finite values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    pub quantiles: [f64; QUANTILES.len()],
    /// The range of the histogram.
    pub from: f64,
    pub to: f64,
    pub bars: [u64; BARS],
}

impl Spread {
    /// Of cells in ascending order, which count values between `least` and `largest`; None without values.
    pub fn of(cells: impl Iterator<Item = Cell> + Clone, least: f64, largest: f64) -> Option<Self> {
        let cells = cells.map(move |cell| cell.within(least, largest));
        let count: u64 = cells.clone().map(|cell| cell.count).sum();
        if count == 0 {
            return None;
        }
        let ranks = QUANTILES.map(|share| (count - 1) as f64 * share);
        let mut values = Ranks::new(cells.clone());
        // All values of the cells, so that the smallest and the largest of few are in the histogram.
        let from = values.at(whole(ranks[0])).low;
        let to = values.at(whole(ranks[QUANTILES.len() - 1].ceil()).min(count - 1)).high;
        Some(Self { quantiles: quantiles(cells.clone(), count), from, to, bars: bars(cells, from, to) })
    }

    /// The number of values that a bar counts.
    pub fn counted(&self) -> u64 {
        self.bars.iter().sum()
    }
}

/// With numpy's default method: linear between the two values next to the rank.
fn quantiles(cells: impl Iterator<Item = Cell> + Clone, count: u64) -> [f64; QUANTILES.len()] {
    let mut values = Ranks::new(cells);
    QUANTILES.map(|share| {
        let rank = (count - 1) as f64 * share;
        let below = whole(rank).min(count - 1);
        let low = values.at(below).middle();
        let high = values.clone().at((below + 1).min(count - 1)).middle();
        between(low, high, rank - below as f64)
    })
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

/// Finds values by ascending ranks.
#[derive(Clone)]
struct Ranks<I> {
    cells: I,
    cell: Cell,
    /// The number of values up to the end of the cell.
    end: u64,
}

impl<I: Iterator<Item = Cell>> Ranks<I> {
    fn new(cells: I) -> Self {
        Self { cells, cell: Cell::exact(0.0, 0), end: 0 }
    }

    fn at(&mut self, rank: u64) -> Cell {
        while self.end <= rank
            && let Some(cell) = self.cells.next()
        {
            self.cell = cell;
            self.end += cell.count;
        }
        self.cell
    }
}

/// The number of values in each of equal parts of the range. A cell of several parts is spread over them.
fn bars(cells: impl Iterator<Item = Cell>, from: f64, to: f64) -> [u64; BARS] {
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
    for cell in cells.filter(|cell| cell.low >= from && cell.high <= to) {
        let (first, last) = (bar(cell.low.max(from)), bar(cell.high.min(to)));
        let parts = (last - first + 1) as u64;
        for (number, count) in bars[first..=last].iter_mut().enumerate() {
            *count += cell.count / parts + u64::from((number as u64) < cell.count % parts);
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::{BARS, Cell, Spread};

    fn of(values: &[f64]) -> Spread {
        let cells = values.iter().map(|value| Cell::exact(*value, 1));
        Spread::of(cells, values[0], values[values.len() - 1]).expect("values")
    }

    #[test]
    fn quantiles_are_those_of_numpy() {
        let spread = of(&[1.0, 2.0, 4.0, 8.0, 16.0]);
        // np.quantile([1, 2, 4, 8, 16], [0.001, 0.05, 0.5, 0.95])
        let [thousandth, _, twentieth, _, median, _, high, ..] = spread.quantiles;
        assert_eq!([thousandth, twentieth, median, high], [1.004, 1.2, 4.0, 14.399_999_999_999_999]);
        assert_eq!(of(&[-3.0]).quantiles, [-3.0; 9]);
        let twice = [Cell::exact(1.0, 3), Cell::exact(2.0, 1)];
        let spread = Spread::of(twice.into_iter(), 1.0, 2.0).expect("values");
        assert_eq!(spread.quantiles[4..7], [1.0, 1.25, 1.849_999_999_999_999_6]);
        assert_eq!(Spread::of([].into_iter(), 0.0, 0.0), None);
    }

    #[test]
    fn quantiles_between_values_that_are_far_apart_are_numbers() {
        let far = 1.7e308;
        assert_eq!(of(&[-far, far]).quantiles[4], 0.0);
        assert_eq!(of(&[-far, -far, far]).quantiles[4], -far);
        assert_eq!(of(&[-far, far, far]).quantiles[4], far);
        assert!(of(&[-far, far]).quantiles.is_sorted());
    }

    #[test]
    fn bars_count_every_value_in_their_range() {
        let values: Vec<f64> = (0..=2400).map(f64::from).collect();
        let spread = of(&values);
        assert_eq!((spread.from, spread.to), (2.0, 2398.0));
        assert_eq!(spread.counted(), 2397);
        assert!(spread.bars.iter().all(|bar| (99..=101).contains(bar)), "{:?}", spread.bars);
        assert_eq!(of(&[5.0; 3]).bars[0], 3);
    }

    #[test]
    fn the_smallest_and_the_largest_of_few_values_have_bars() {
        for values in [&[1.0, 3.0][..], &[1.0, 2.0, 4.0, 8.0], &[-1.7e308, -1e307, 1.7e308]] {
            let spread = of(values);
            assert_eq!((spread.from, spread.to), (values[0], values[values.len() - 1]));
            assert_eq!((spread.bars[0] > 0, spread.bars[BARS - 1] > 0), (true, true), "{spread:?}");
            assert_eq!(spread.counted(), values.len() as u64);
        }
        assert_eq!(of(&[-1.7e308, -1e307, 1.7e308]).bars[BARS / 2 - 1], 1);
    }

    /// They are all in one bucket.
    #[test]
    fn quantiles_of_values_near_each_other_are_between_them() {
        let cell = Cell { low: 99_900_000.0, high: 100_100_000.0, count: 10 };
        let spread = Spread::of([cell].into_iter(), 99_999_999.0, 100_000_001.0).expect("values");
        assert_eq!((spread.quantiles, spread.from, spread.to), ([1e8; 9], 99_999_999.0, 100_000_001.0));
    }

    #[test]
    fn a_wide_cell_is_spread_over_its_bars() {
        let cells = [Cell::exact(0.0, 100), Cell { low: 0.0, high: 1.0, count: 2402 }, Cell::exact(1.0, 100)];
        let spread = Spread::of(cells.into_iter(), 0.0, 1.0).expect("values");
        assert_eq!(spread.bars.iter().sum::<u64>(), 2602);
        assert_eq!(spread.bars[2..BARS - 1], [100; BARS - 3], "{:?}", spread.bars);
    }
}
