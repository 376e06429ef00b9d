//! Mean and standard deviation, merged in a fixed order.

/// A sum whose rounding errors are summed, too.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    /// Adds a number, with Knuth's exact sum of two.
    pub fn add(&mut self, number: f64) {
        let (sum, rest) = exact_sum(self.high, number);
        self.low += rest;
        self.high = sum;
    }

    pub fn total(self) -> f64 {
        self.high + self.low
    }
}

/// A sum, and what rounding has lost of it.
fn exact_sum(one: f64, other: f64) -> (f64, f64) {
    let sum = one + other;
    let back = sum - one;
    (sum, (one - (sum - back)) + (other - back))
}

/// The factor of sums that would overflow, 2^-600, and its inverse.
const DOWN: f64 = f64::from_bits((1023 - 600) << 52);
const UP: f64 = f64::from_bits((1023 + 600) << 52);

/// The number of values, their sum, and the sum of their squared distances from their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    pub count: u64,
    sum: Sum,
    squares: f64,
    /// Whether the sums are those of the values times [`DOWN`], because they would overflow otherwise. What
    /// is lost of small values is nothing beside the large ones.
    is_scaled: bool,
}

impl Moments {
    /// Of values whose sum and squared distances are known.
    pub fn new(count: u64, sum: Sum, squares: f64) -> Self {
        Self { count, sum, squares, is_scaled: false }
    }

    /// Of finite values, in two passes over memory.
    pub fn of(values: &[f64]) -> Self {
        let plain = Self::unscaled(values);
        if plain.is_finite() {
            return plain;
        }
        let scaled: Vec<f64> = values.iter().map(|value| value * DOWN).collect();
        Self { is_scaled: true, ..Self::unscaled(&scaled) }
    }

    fn unscaled(values: &[f64]) -> Self {
        let (length, sum) = ((values.len() as f64).max(1.0), sum_of(values));
        let about = sum.total() / length;
        // The mean is rounded, which its distance from the exact one corrects.
        let rest = (-about).mul_add(length, sum.high) + sum.low;
        let squares = lanes(values, |value| (value - about) * (value - about));
        let squares = squares - rest * (rest / length);
        // Not `max`, which would hide that a sum is no number.
        Self::new(values.len() as u64, sum, if squares < 0.0 { 0.0 } else { squares })
    }

    fn is_finite(&self) -> bool {
        self.sum.high.is_finite() && self.sum.low.is_finite() && self.squares.is_finite()
    }

    fn scaled(&self) -> Self {
        if self.is_scaled {
            return *self;
        }
        let sum = Sum { high: self.sum.high * DOWN, low: self.sum.low * DOWN };
        Self { count: self.count, sum, squares: self.squares * DOWN * DOWN, is_scaled: true }
    }

    /// Adds other values, as Chan, Golub and LeVeque do. The result depends on the order of the calls in its
    /// last digits.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        if self.is_scaled == other.is_scaled {
            let both = self.with(other);
            if both.is_finite() {
                *self = both;
                return;
            }
        }
        *self = self.scaled().with(&other.scaled());
    }

    /// Both are scaled, or none.
    fn with(&self, other: &Self) -> Self {
        let mut both = *self;
        let (ours, theirs) = (self.count as f64, other.count as f64);
        let ((high, low), (other_high, other_low)) = (self.exact_mean(), other.exact_mean());
        let distance = (other_high - high) + (other_low - low);
        both.squares += other.squares + distance * distance * (ours / (ours + theirs) * theirs);
        both.count += other.count;
        both.sum.add(other.sum.high);
        both.sum.add(other.sum.low);
        both
    }

    /// The mean, and what is left of it, without the scale.
    fn exact_mean(&self) -> (f64, f64) {
        let count = self.count.max(1) as f64;
        let mean = self.sum.total() / count;
        let rest = (-mean).mul_add(count, self.sum.high) + self.sum.low;
        (mean, rest / count)
    }

    fn scale(&self) -> f64 {
        if self.is_scaled { UP } else { 1.0 }
    }

    /// The mean; 0 of no values.
    pub fn mean(&self) -> f64 {
        self.sum.total() / (self.count.max(1) as f64) * self.scale()
    }

    /// The standard deviation of these values, not an estimate for a population that they are a sample of.
    pub fn deviation(&self) -> f64 {
        (self.squares / (self.count.max(1) as f64)).sqrt() * self.scale()
    }
}

/// The sum of values, with what rounding has lost. Eight parts are added side by side.
fn sum_of(values: &[f64]) -> Sum {
    let (whole, rest) = values.as_chunks::<8>();
    let (mut highs, mut lows) = ([0.0; 8], [0.0; 8]);
    for chunk in whole {
        for ((high, low), value) in highs.iter_mut().zip(&mut lows).zip(chunk) {
            let (sum, lost) = exact_sum(*high, *value);
            *high = sum;
            *low += lost;
        }
    }
    let mut sum = Sum::default();
    highs.iter().chain(rest).chain(&lows).for_each(|number| sum.add(*number));
    sum
}

/// A sum in eight parts, which the processor adds side by side; always the same eight.
fn lanes(values: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    let (whole, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for chunk in whole {
        sums.iter_mut().zip(chunk).for_each(|(sum, value)| *sum += of(*value));
    }
    let rest: f64 = rest.iter().map(|value| of(*value)).sum();
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + b) + (c + d)) + ((e + f) + (g + h)) + rest
}

#[cfg(test)]
mod tests {
    use super::{Moments, Sum};

    #[test]
    fn sums_keep_what_a_double_loses() {
        let mut sum = Sum::default();
        [1.0, 1e100, 1.0, -1e100].into_iter().for_each(|number| sum.add(number));
        assert_eq!(sum.total(), 2.0);
    }

    #[test]
    fn parts_have_the_moments_of_the_whole() {
        let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-14;
        for scale in [1.0, 1e-3] {
            let values: Vec<f64> =
                (0..1000_u32).map(|index| 1e9 + scale * f64::from(index % 7) / 8.0 * 1.024).collect();
            let exact: Vec<f64> = values.iter().map(|value| value - 1e9).collect();
            let mean = exact.iter().sum::<f64>() / 1000.0;
            let squares: f64 = exact.iter().map(|value| (value - mean) * (value - mean)).sum();
            let whole = Moments::of(&values);
            let mut merged = Moments::default();
            values.chunks(33).for_each(|chunk| merged.merge(&Moments::of(chunk)));
            assert_eq!((merged.count, merged.mean()), (1000, 1e9 + mean));
            assert!(near(merged.deviation(), (squares / 1000.0).sqrt()), "{merged:?} {squares}");
            assert!(near(whole.deviation(), merged.deviation()), "{merged:?} {whole:?}");
        }
    }

    #[test]
    fn sums_that_overflow_have_moments() {
        let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-14;
        let of = |values: &[f64], size: usize| {
            let mut merged = Moments::default();
            values.chunks(size).for_each(|chunk| merged.merge(&Moments::of(chunk)));
            merged
        };
        for size in [1, 2, 4] {
            let moments = of(&[1e308, 1e308, 1e308, 1.2e308], size);
            assert!(near(moments.mean(), 1.05e308), "{moments:?}");
            assert!(near(moments.deviation(), 0.866_025_403_784_438_6e307), "{moments:?}");
            let moments = of(&[f64::MAX, -f64::MAX], size);
            assert_eq!((moments.mean(), moments.deviation()), (0.0, f64::MAX));
            // Squares overflow before sums do.
            let moments = of(&[3.0, 1e200, 1e200, -2e200 + 1.0], size);
            assert!(near(moments.deviation(), 1.5_f64.sqrt() * 1e200), "{moments:?}");
        }
        // The total of a model.
        let mut all = of(&[1.0; 5], 5);
        all.merge(&of(&[1e308, 1.7e308], 2));
        assert!(near(all.mean(), 2.7e307 / 7.0 * 10.0), "{all:?}");
    }

    #[test]
    fn a_mean_that_is_small_beside_the_values_is_exact() {
        let large = f64::from(3e38_f32);
        assert_eq!(Moments::of(&[large, 1.0, -large, 1.0]).mean(), 0.5);
        let six = [2_147_483_647.0, -2_147_483_648.0, 1_000_000_007.0, -1_000_000_007.0, 0.0, 0.0];
        assert_eq!(Moments::of(&six).mean(), -1.0 / 6.0);
        let many: Vec<f64> = six.iter().copied().cycle().take(6000).collect();
        assert_eq!(Moments::of(&many).mean(), -1.0 / 6.0);
    }

    #[test]
    fn nothing_has_a_mean_of_zero() {
        let mut none = Moments::of(&[]);
        assert_eq!((none.mean(), none.deviation()), (0.0, 0.0));
        none.merge(&Moments::of(&[3.0]));
        none.merge(&Moments::default());
        assert_eq!((none.count, none.mean(), none.deviation()), (1, 3.0, 0.0));
    }
}
