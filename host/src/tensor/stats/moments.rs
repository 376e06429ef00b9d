//! Mean and standard deviation, merged in a fixed order.

use serde::{Serialize, Serializer};

/// A sum, and what rounding has lost of it.
type Sum = [f64; 2];

/// Adds a number, with Knuth's exact sum of two.
fn add([high, low]: Sum, number: f64) -> Sum {
    let sum = high + number;
    let back = sum - high;
    [sum, low + ((high - (sum - back)) + (number - back))]
}

/// The factor of values whose sums or squares may overflow, 2^-600, and its inverse.
const DOWN: f64 = f64::from_bits((1023 - 600) << 52);
const UP: f64 = f64::from_bits((1023 + 600) << 52);
/// Larger values are scaled. Small values that this loses are nothing beside them.
const LARGE: f64 = 1e100;

/// The number of values, their sum, and the sum of their squared distances from their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u64,
    sum: Sum,
    squares: f64,
    /// Whether the sums are those of the values times [`DOWN`].
    is_scaled: bool,
}

impl Moments {
    /// Of finite values with this largest magnitude, in two passes over memory.
    pub fn of(values: &[f64], largest: f64) -> Self {
        if largest > LARGE {
            let scaled: Vec<f64> = values.iter().map(|value| value * DOWN).collect();
            return Self { is_scaled: true, ..Self::of(&scaled, 0.0) };
        }
        let all = Self { count: values.len() as u64, sum: sum_of(values), ..Self::default() };
        // The mean is rounded, which its distance from the exact one corrects.
        let [about, rest] = all.rounded_mean();
        let squares = squares_of(values, about) - rest * (rest / (values.len() as f64).max(1.0));
        Self { squares: squares.max(0.0), ..all }
    }

    /// Of values up to [`LARGE`] that occur so many times each.
    pub fn of_counted(values: impl Iterator<Item = (f64, u64)> + Clone) -> Self {
        let sum = values.clone().fold([0.0; 2], |sum, (value, count)| add(sum, value * count as f64));
        let all = Self { count: values.clone().map(|(_, count)| count).sum(), sum, ..Self::default() };
        let mean = all.mean();
        let square = |(value, count)| (value - mean) * (value - mean) * count as f64;
        let [high, low] = values.map(square).fold([0.0; 2], add);
        Self { squares: high + low, ..all }
    }

    /// Adds other values, as Chan, Golub and LeVeque do. The result depends on the order of the calls in its
    /// last digits.
    pub fn merge(&mut self, other: &Self) {
        if self.count == 0 || other.count == 0 {
            *self = if self.count == 0 { *other } else { *self };
            return;
        }
        let is_scaled = self.is_scaled || other.is_scaled;
        let (one, other) = (self.scaled(is_scaled), other.scaled(is_scaled));
        let (ours, theirs) = (one.count as f64, other.count as f64);
        let ([high, low], [other_high, other_low]) = (one.rounded_mean(), other.rounded_mean());
        let distance = (other_high - high) + (other_low / theirs - low / ours);
        *self = Self {
            count: one.count + other.count,
            sum: other.sum.into_iter().fold(one.sum, add),
            squares: one.squares + (other.squares + distance * distance * (ours / (ours + theirs) * theirs)),
            is_scaled,
        };
    }

    fn scaled(&self, is_scaled: bool) -> Self {
        let factor = if is_scaled && !self.is_scaled { DOWN } else { 1.0 };
        let (sum, squares) = (self.sum.map(|part| part * factor), self.squares * factor * factor);
        Self { sum, squares, is_scaled, ..*self }
    }

    /// The mean, and what it leaves of the sum, without the scale.
    fn rounded_mean(&self) -> [f64; 2] {
        let (count, [high, low]) = (self.count.max(1) as f64, self.sum);
        let mean = (high + low) / count;
        [mean, (-mean).mul_add(count, high) + low]
    }

    /// The mean; 0 of no values.
    pub fn mean(&self) -> f64 {
        self.rounded_mean()[0] * if self.is_scaled { UP } else { 1.0 }
    }

    /// The standard deviation of these values, not an estimate for a population that they are a sample of.
    pub fn deviation(&self) -> f64 {
        let variance = self.squares / self.count.max(1) as f64;
        variance.sqrt() * if self.is_scaled { UP } else { 1.0 }
    }
}

/// Both are `null` without values.
impl Serialize for Moments {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let shown = |value| (self.count > 0).then_some(value);
        to.collect_map([("mean", shown(self.mean())), ("std", shown(self.deviation()))])
    }
}

/// The sum of values. Eight parts are added side by side.
fn sum_of(values: &[f64]) -> Sum {
    let (whole, rest) = values.as_chunks::<8>();
    let (mut highs, mut lows) = ([0.0; 8], [0.0; 8]);
    for chunk in whole {
        for ((high, low), value) in highs.iter_mut().zip(&mut lows).zip(chunk) {
            [*high, *low] = add([*high, *low], *value);
        }
    }
    highs.iter().chain(rest).chain(&lows).fold([0.0; 2], |sum, number| add(sum, *number))
}

/// The squared distances in eight parts, which the processor adds side by side; always the same eight.
fn squares_of(values: &[f64], about: f64) -> f64 {
    let square = |value: &f64| (value - about) * (value - about);
    let (whole, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for chunk in whole {
        sums.iter_mut().zip(chunk).for_each(|(sum, value)| *sum += square(value));
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + b) + (c + d)) + ((e + f) + (g + h)) + rest.iter().map(square).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::Moments;

    fn of(values: &[f64]) -> Moments {
        Moments::of(values, values.iter().fold(0.0, |largest, value| value.abs().max(largest)))
    }

    fn merged(values: &[f64], size: usize) -> Moments {
        let mut all = Moments::default();
        values.chunks(size).for_each(|chunk| all.merge(&of(chunk)));
        all
    }

    fn near(one: f64, other: f64) -> bool {
        (one / other - 1.0).abs() < 1e-14
    }

    #[test]
    fn sums_that_overflow_have_moments() {
        for size in [1, 2, 4] {
            let moments = merged(&[1e308, 1e308, 1e308, 1.2e308], size);
            assert!(near(moments.mean(), 1.05e308), "{moments:?}");
            assert!(near(moments.deviation(), 0.866_025_403_784_438_6e307), "{moments:?}");
            let moments = merged(&[f64::MAX, -f64::MAX], size);
            assert_eq!((moments.mean(), moments.deviation()), (0.0, f64::MAX));
            // Squares overflow before sums do.
            let moments = merged(&[3.0, 1e200, 1e200, -2e200 + 1.0], size);
            assert!(near(moments.deviation(), 1.5_f64.sqrt() * 1e200), "{moments:?}");
        }
        // The total of a model.
        let mut all = merged(&[1.0; 5], 5);
        all.merge(&merged(&[1e308, 1.7e308], 2));
        assert!(near(all.mean(), 2.7e307 / 7.0 * 10.0), "{all:?}");
    }

    #[test]
    fn a_mean_that_is_small_beside_the_values_is_exact() {
        let large = f64::from(3e38_f32);
        assert_eq!(of(&[large, 1.0, -large, 1.0]).mean(), 0.5);
        let six = [2_147_483_647.0, -2_147_483_648.0, 1_000_000_007.0, -1_000_000_007.0, 0.0, 0.0];
        assert_eq!(of(&six.repeat(1000)).mean(), -1.0 / 6.0);
    }
}
