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
        let sum = self.high + number;
        let back = sum - self.high;
        self.low += (self.high - (sum - back)) + (number - back);
        self.high = sum;
    }

    pub fn total(self) -> f64 {
        let total = self.high + self.low;
        // The errors of a sum that overflows are not a number.
        if total.is_nan() { self.high } else { total }
    }
}

/// The number of values, their sum, and the sum of their squared distances from their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    pub count: u64,
    sum: Sum,
    squares: f64,
}

impl Moments {
    /// Of values whose sum and squared distances are known.
    pub fn new(count: u64, sum: Sum, squares: f64) -> Self {
        Self { count, sum, squares }
    }

    /// Of finite values, in two passes over memory.
    pub fn of(values: &[f64]) -> Self {
        let (length, count) = (values.len() as f64, values.len() as u64);
        let about = lanes(values, |value| value) / length.max(1.0);
        // The distances from a rounded mean correct both the mean and the squares.
        let rest = lanes(values, |value| value - about);
        let squares = lanes(values, |value| (value - about) * (value - about));
        let mut sum = Sum::default();
        let product = about * length;
        sum.add(product);
        sum.add(about.mul_add(length, -product));
        sum.add(rest);
        Self { count, sum, squares: (squares - rest * (rest / length.max(1.0))).max(0.0) }
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
        let (ours, theirs) = (self.count as f64, other.count as f64);
        let ((high, low), (other_high, other_low)) = (self.exact_mean(), other.exact_mean());
        let distance = (other_high - high) + (other_low - low);
        self.squares += other.squares + distance * distance * (ours / (ours + theirs) * theirs);
        self.count += other.count;
        self.sum.add(other.sum.high);
        self.sum.add(other.sum.low);
    }

    /// The mean, and what is left of it.
    fn exact_mean(&self) -> (f64, f64) {
        let (count, mean) = (self.count.max(1) as f64, self.mean());
        let rest = (-mean).mul_add(count, self.sum.high) + self.sum.low;
        (mean, if rest.is_finite() { rest / count } else { 0.0 })
    }

    /// The mean; 0 of no values.
    pub fn mean(&self) -> f64 {
        self.sum.total() / (self.count.max(1) as f64)
    }

    /// The standard deviation of these values, not an estimate for a population that they are a sample of.
    pub fn deviation(&self) -> f64 {
        (self.squares / (self.count.max(1) as f64)).sqrt()
    }
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
        let mut sum = Sum::default();
        [f64::MAX, f64::MAX].into_iter().for_each(|number| sum.add(number));
        assert_eq!(sum.total(), f64::INFINITY);
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
    fn nothing_has_a_mean_of_zero() {
        let mut none = Moments::of(&[]);
        assert_eq!((none.mean(), none.deviation()), (0.0, 0.0));
        none.merge(&Moments::of(&[3.0]));
        none.merge(&Moments::default());
        assert_eq!((none.count, none.mean(), none.deviation()), (1, 3.0, 0.0));
    }
}
