//! Mean and standard deviation, merged in a fixed order.

use serde::{Serialize, Serializer};

/// Adds a number to a sum and to what rounding has lost of it, with Knuth's exact sum of two.
fn add([high, low]: [f64; 2], number: f64) -> [f64; 2] {
    let sum = high + number;
    let back = sum - high;
    [sum, low + ((high - (sum - back)) + (number - back))]
}

/// The mean and the standard deviation of values. Not finite where a sum overflows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u64,
    /// The rounded mean of a block, and the distance of the mean from it.
    about: f64,
    rest: f64,
    /// The sum of the squared distances from the mean.
    squares: f64,
}

impl Moments {
    /// Of finite values that occur so many times each, in two passes over memory.
    pub fn of<V: Copy>(values: &[V], counted: impl Fn(V) -> (f64, u64)) -> Self {
        let count: u64 = values.iter().map(|value| counted(*value).1).sum();
        let (all, at) = (count.max(1) as f64, |value| (counted(value).0, counted(value).1 as f64));
        let sums = side_by_side(values, [0.0; 2], |sum, value| add(sum, at(value).0 * at(value).1));
        let [high, low] = sums.into_iter().flatten().fold([0.0; 2], add);
        let about = (high + low) / all;
        let rest = ((-about).mul_add(all, high) + low) / all;
        let squares = side_by_side(values, 0.0, |sum, value| {
            sum + (at(value).0 - about) * (at(value).0 - about) * at(value).1
        });
        let squares = squares.iter().sum::<f64>() - rest * rest * all;
        Self { count, about, rest, squares: squares.clamp(0.0, f64::INFINITY) }
    }

    /// Adds other values, as Chan, Golub and LeVeque do. The result depends on the order of the calls in its
    /// last digits.
    pub fn merge(&mut self, other: &Self) {
        if self.count == 0 || other.count == 0 {
            *self = if self.count == 0 { *other } else { *self };
            return;
        }
        let (ours, all) = (self.count as f64, (self.count + other.count) as f64);
        let distance = (other.about - self.about) + (other.rest - self.rest);
        let moved = distance * (other.count as f64 / all);
        self.count += other.count;
        self.rest += moved;
        self.squares += other.squares + distance * moved * ours;
    }

    /// The mean; 0 of no values.
    pub fn mean(&self) -> f64 {
        self.about + self.rest
    }

    /// Of these values, not an estimate for a population that they are a sample of.
    pub fn deviation(&self) -> f64 {
        // The distance of infinities is no number.
        let squares = if self.squares.is_nan() { f64::INFINITY } else { self.squares };
        (squares / self.count.max(1) as f64).sqrt()
    }
}

/// Both are `null` without values, and where they are not finite.
impl Serialize for Moments {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let shown = |value| (self.count > 0).then_some(value);
        to.collect_map([("mean", shown(self.mean())), ("std", shown(self.deviation()))])
    }
}

/// Folds values in eight parts, which the processor computes side by side; always the same eight.
pub fn side_by_side<V: Copy, T: Copy>(values: &[V], start: T, fold: impl Fn(T, V) -> T) -> [T; 8] {
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

    #[test]
    fn sums_that_overflow_are_not_finite() {
        let of = |values: &[f64]| Moments::of(values, |value| (value, 1));
        for values in [&[1e200, -1e200][..], &[f64::MAX; 2], &[1.0, f64::MAX, -f64::MAX]] {
            assert!(!of(values).deviation().is_finite(), "{values:?}");
            let mut merged = of(&values[..1]);
            merged.merge(&of(&values[1..]));
            assert_eq!(merged.deviation().is_finite(), values == [f64::MAX; 2], "{merged:?}");
        }
    }

    #[test]
    fn a_mean_that_is_small_beside_the_values_is_exact() {
        let of = |values: &[f64]| Moments::of(values, |value| (value, 1));
        let large = f64::from(3e38_f32);
        assert_eq!(of(&[large, 1.0, -large, 1.0]).mean(), 0.5);
    }
}
