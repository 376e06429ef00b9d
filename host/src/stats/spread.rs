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
        let count: u64 = cells.clone().map(|cell| cell.count).sum();
        if count == 0 {
            return None;
        }
        let quantiles = quantiles(cells.clone(), count).map(|value| value.clamp(least, largest));
        let [from, .., to] = quantiles;
        Some(Self { quantiles, from, to, bars: bars(cells, from, to) })
    }
}

/// With numpy's default method: linear between the two values next to the rank.
fn quantiles(cells: impl Iterator<Item = Cell> + Clone, count: u64) -> [f64; QUANTILES.len()] {
    let mut values = Ranks { cells, cell: Cell::exact(0.0, 0), end: 0 };
    QUANTILES.map(|share| {
        let rank = (count - 1) as f64 * share;
        let below = whole(rank).min(count - 1);
        let low = values.at(below);
        let high = values.clone().at((below + 1).min(count - 1));
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
    fn at(&mut self, rank: u64) -> f64 {
        while self.end <= rank
            && let Some(cell) = self.cells.next()
        {
            self.cell = cell;
            self.end += cell.count;
        }
        self.cell.middle()
    }
}

/// The number of values in each of equal parts of the range. A cell of several parts is spread over them.
fn bars(cells: impl Iterator<Item = Cell>, from: f64, to: f64) -> [u64; BARS] {
    let mut bars = [0; BARS];
    let width = (to / BARS as f64) - (from / BARS as f64);
    let bar = |value: f64| {
        let bar = if width > 0.0 { whole((value - from) / width) } else { 0 };
        usize::try_from(bar).unwrap_or(BARS).min(BARS - 1)
    };
    for cell in cells.filter(|cell| cell.high >= from && cell.low <= to) {
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
        assert_eq!((spread.from, spread.to), (2.4, 2397.6));
        assert_eq!(spread.bars.iter().sum::<u64>(), 2395);
        assert!(spread.bars.iter().all(|bar| (99..=101).contains(bar)), "{:?}", spread.bars);
        assert_eq!(of(&[5.0; 3]).bars[0], 3);
    }

    #[test]
    fn a_wide_cell_is_spread_over_its_bars() {
        let cells = [Cell::exact(0.0, 100), Cell { low: 0.0, high: 1.0, count: 2402 }, Cell::exact(1.0, 100)];
        let spread = Spread::of(cells.into_iter(), 0.0, 1.0).expect("values");
        assert_eq!(spread.bars.iter().sum::<u64>(), 2602);
        assert_eq!(spread.bars[2..BARS - 1], [100; BARS - 3], "{:?}", spread.bars);
    }
}
