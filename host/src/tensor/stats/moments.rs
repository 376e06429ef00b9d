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

/// The mean and the standard deviation of values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: Sum,
    /// Of these values, not an estimate for a population that they are a sample of.
    pub deviation: f64,
}

impl Moments {
    /// Of finite values with this largest magnitude, in two passes over memory.
    pub fn of(values: &[f64], largest: f64) -> Self {
        if largest > LARGE {
            let scaled: Vec<f64> = values.iter().map(|value| value * DOWN).collect();
            let Self { count, mean, deviation } = Self::of(&scaled, 0.0);
            return Self { count, mean: mean.map(|part| part * UP), deviation: deviation * UP };
        }
        let sum = side_by_side(values, [0.0; 2], add).into_iter().flatten().fold([0.0; 2], add);
        let square = |about: f64| move |sum, value| sum + (value - about) * (value - about);
        let squares = |about| side_by_side(values, 0.0, square(about)).into_iter().sum();
        Self::new(values.len() as u64, sum, squares)
    }

    /// Of values up to [`LARGE`] that occur so many times each.
    pub fn of_counted(values: impl Iterator<Item = (f64, u64)> + Clone) -> Self {
        let sum = values.clone().fold([0.0; 2], |sum, (value, count)| add(sum, value * count as f64));
        let squares = |about| {
            let squares =
                values.clone().map(|(value, count)| (value - about) * (value - about) * count as f64);
            squares.fold([0.0; 2], add).iter().sum()
        };
        Self::new(values.clone().map(|(_, count)| count).sum(), sum, squares)
    }

    /// Of the sum of the values, and the sum of their squared distances from a number.
    fn new(count: u64, [high, low]: Sum, squares: impl Fn(f64) -> f64) -> Self {
        let values = count.max(1) as f64;
        let mean = (high + low) / values;
        // The rounded mean, and its distance from the exact one.
        let rest = ((-mean).mul_add(values, high) + low) / values;
        let variance = squares(mean) / values - rest * rest;
        Self { count, mean: [mean, rest], deviation: variance.max(0.0).sqrt() }
    }

    /// Adds other values, as Chan, Golub and LeVeque do. The result depends on the order of the calls in its
    /// last digits.
    pub fn merge(&mut self, other: &Self) {
        if self.count == 0 || other.count == 0 {
            *self = if self.count == 0 { *other } else { *self };
            return;
        }
        let count = self.count + other.count;
        let [ours, theirs] = [self.count, other.count].map(|part| part as f64 / count as f64);
        // The whole distance of the means may be larger than the largest number.
        let [high, low] = [0, 1].map(|part| other.mean[part] / 2.0 - self.mean[part] / 2.0);
        let half = high + low;
        let deviation = (self.deviation * ours.sqrt()).hypot(other.deviation * theirs.sqrt());
        *self = Self {
            count,
            mean: [half * theirs; 2].into_iter().fold(self.mean, add),
            deviation: deviation.hypot(half * (2.0 * (ours * theirs).sqrt())),
        };
    }

    /// The mean; 0 of no values.
    pub fn mean(&self) -> f64 {
        self.mean.iter().sum()
    }
}

/// Both are `null` without values.
impl Serialize for Moments {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let shown = |value| (self.count > 0).then_some(value);
        to.collect_map([("mean", shown(self.mean())), ("std", shown(self.deviation))])
    }
}

/// Folds values in eight parts, which the processor computes side by side; always the same eight.
pub fn side_by_side<T: Copy>(values: &[f64], start: T, fold: impl Fn(T, f64) -> T) -> [T; 8] {
    let (mut parts, (whole, rest)) = ([start; 8], values.as_chunks::<8>());
    for chunk in whole {
        parts.iter_mut().zip(chunk).for_each(|(part, value)| *part = fold(*part, *value));
    }
    parts.iter_mut().zip(rest).for_each(|(part, value)| *part = fold(*part, *value));
    parts
}

#[cfg(test)]
mod tests {
    use super::Moments;

    fn merged(values: &[f64], size: usize) -> Moments {
        let mut all = Moments::default();
        let largest = |values: &[f64]| values.iter().fold(0.0, |largest, value| value.abs().max(largest));
        values.chunks(size).for_each(|chunk| all.merge(&Moments::of(chunk, largest(chunk))));
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
            assert!(near(moments.deviation, 0.866_025_403_784_438_6e307), "{moments:?}");
            let moments = merged(&[f64::MAX, -f64::MAX], size);
            assert_eq!((moments.mean(), moments.deviation), (0.0, f64::MAX));
            // Squares overflow before sums do.
            let moments = merged(&[3.0, 1e200, 1e200, -2e200 + 1.0], size);
            assert!(near(moments.deviation, 1.5_f64.sqrt() * 1e200), "{moments:?}");
        }
        let all = merged(&[1.0, 1.0, 1.0, 1.0, 1.0, 1e308, 1.7e308], 5);
        assert!(near(all.mean(), 2.7e307 / 7.0 * 10.0), "{all:?}");
        // Also of subnormal numbers.
        assert_eq!(merged(&[5e-324; 4], 1).mean(), 5e-324);
    }

    #[test]
    fn a_mean_that_is_small_beside_the_values_is_exact() {
        let large = f64::from(3e38_f32);
        assert_eq!(merged(&[large, 1.0, -large, 1.0], 4).mean(), 0.5);
        let six = [2_147_483_647.0, -2_147_483_648.0, 1_000_000_007.0, -1_000_000_007.0, 0.0, 0.0];
        assert_eq!(merged(&six.repeat(1000), 6000).mean(), -1.0 / 6.0);
    }
}
