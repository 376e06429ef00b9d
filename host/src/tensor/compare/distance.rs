//! The distance between the values of two tensors.

use crate::tensor::compare::value::Piece;
use safetensors_convert::numbers::{Mean, Number};

/// The tolerance.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tolerance {
    /// The largest absolute difference that is ignored.
    pub absolute: f64,
    /// The largest difference that is ignored, relative to the larger value.
    pub relative: f64,
}

impl Tolerance {
    fn allows(&self, distance: f64, magnitude: f64) -> bool {
        distance <= self.absolute || distance <= self.relative * magnitude
    }
}

/// Two values and their position.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The index among the tensor's values.
    pub at: u64,
    pub a: Number,
    pub b: Number,
}

/// The summary of all pairs of values.
#[derive(Debug, Default)]
pub struct Distance {
    pub values: u64,
    /// Pairs that are not equal.
    pub differing: u64,
    /// Pairs outside of the tolerance.
    pub beyond: u64,
    /// Pairs of which exactly one is NaN, or one is infinite and the other is not the same infinity.
    pub not_finite: u64,
    pub first_not_finite: Option<Place>,
    /// The largest difference of all other pairs.
    pub largest: f64,
    pub largest_at: Option<Place>,
    /// The largest difference relative to the larger value.
    pub relative: f64,
    sum: Mean,
}

impl Distance {
    /// The mean difference of finite pairs, equal ones included.
    pub fn mean(&self) -> f64 {
        self.sum.of(self.values - self.not_finite)
    }

    /// Adds values from this position on.
    pub fn add(&mut self, at: u64, a: &Piece<'_>, b: &Piece<'_>, tolerance: &Tolerance) {
        self.values += a.len().min(b.len()) as u64;
        if let (Piece::Floats(a), Piece::Floats(b)) = (a, b) {
            for (index, (a, b)) in a.iter().zip(*b).enumerate() {
                if a != b && !(a.is_nan() && b.is_nan()) {
                    let place = Place { at: at + index as u64, a: Number::Float(*a), b: Number::Float(*b) };
                    self.add_pair(place, tolerance);
                }
            }
            return;
        }
        for (index, (a, b)) in a.values().zip(b.values()).enumerate() {
            if !are_equal(a, b) {
                self.add_pair(Place { at: at + index as u64, a, b }, tolerance);
            }
        }
    }

    /// Adds equal pairs.
    pub fn add_equal(&mut self, values: u64) {
        self.values += values;
    }

    fn add_pair(&mut self, place: Place, tolerance: &Tolerance) {
        self.differing += 1;
        let (a, b) = (place.a.nearest(), place.b.nearest());
        if !(a.is_finite() && b.is_finite()) {
            self.not_finite += 1;
            self.beyond += 1;
            self.first_not_finite.get_or_insert(place);
            return;
        }
        let (distance, magnitude) = (distance(place.a, place.b), a.abs().max(b.abs()));
        self.sum.add(distance);
        self.beyond += u64::from(!tolerance.allows(distance, magnitude));
        self.relative = self.relative.max(distance / magnitude);
        if distance > self.largest || self.largest_at.is_none() {
            self.largest = distance;
            self.largest_at = Some(place);
        }
    }
}

fn are_equal(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Float(a), Number::Float(b)) => a == b || a.is_nan() && b.is_nan(),
        _ => integer(a).is_some() && integer(a) == integer(b),
    }
}

/// Exact if both are integers, even if one is stored as a float. Too large for a double counts as the
/// largest double.
fn distance(a: Number, b: Number) -> f64 {
    match (a, b) {
        (Number::Float(a), Number::Float(b)) => (a - b).abs().min(f64::MAX),
        _ => match (integer(a), integer(b)) {
            (Some(a), Some(b)) => a.abs_diff(b) as f64,
            _ => (a.nearest() - b.nearest()).abs(),
        },
    }
}

fn integer(number: Number) -> Option<i128> {
    match number {
        Number::Float(float) => whole(float),
        Number::Signed(integer) => Some(integer.into()),
        Number::Unsigned(integer) => Some(integer.into()),
    }
}

/// The integer value of a float, if it is an integer of relevant size.
#[expect(clippy::cast_possible_truncation, reason = "an integer that fits")]
fn whole(float: f64) -> Option<i128> {
    (float.fract() == 0.0 && float.abs() < 1e30).then_some(float as i128)
}

#[cfg(test)]
mod tests {
    use super::{Distance, Tolerance};
    use crate::tensor::compare::value::Piece;

    fn measured(a: &Piece<'_>, b: &Piece<'_>, tolerance: Tolerance) -> Distance {
        let mut distance = Distance::default();
        distance.add(10, a, b, &tolerance);
        distance
    }

    #[test]
    fn the_largest_difference_and_its_place() {
        let (a, b) = ([0.0, 1.0, 5.0, -8.0], [-0.0, 1.5, 4.0, -8.0]);
        let distance = measured(&Piece::Floats(&a), &Piece::Floats(&b), Tolerance::default());
        assert_eq!((distance.values, distance.differing, distance.beyond), (4, 2, 2));
        assert_eq!((distance.largest, distance.largest_at.map(|place| place.at)), (1.0, Some(12)));
        assert_eq!((distance.mean(), distance.relative), (0.375, 0.5 / 1.5));
    }

    #[test]
    fn either_tolerance_is_enough() {
        let (a, b) = ([100.0, 0.001], [101.0, 0.002]);
        let beyond = |absolute, relative| {
            measured(&Piece::Floats(&a), &Piece::Floats(&b), Tolerance { absolute, relative }).beyond
        };
        assert_eq!(
            [beyond(0.0, 0.0), beyond(0.01, 0.0), beyond(0.0, 0.01), beyond(0.01, 0.01), beyond(1.0, 0.0)],
            [2, 1, 1, 0, 0]
        );
    }

    #[test]
    fn what_is_not_finite_is_equal_to_itself_and_never_near() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let (a, b) = ([nan, inf, nan, inf, 1.0, inf], [-nan, inf, 1.0, 2.0, -inf, -inf]);
        let huge = Tolerance { absolute: f64::MAX, relative: f64::MAX };
        let distance = measured(&Piece::Floats(&a), &Piece::Floats(&b), huge);
        assert_eq!((distance.differing, distance.not_finite, distance.beyond), (4, 4, 4));
        assert_eq!(distance.first_not_finite.map(|place| place.at), Some(12));
        assert_eq!((distance.largest, distance.mean()), (0.0, 0.0));
    }

    #[test]
    fn integers_are_exact() {
        let (a, b) = ([i64::MAX, i64::MIN, -1], [u64::MAX >> 1, u64::MAX, u64::MAX]);
        let distance = measured(&Piece::Signed(&a), &Piece::Unsigned(&b), Tolerance::default());
        assert_eq!((distance.differing, distance.largest), (2, 27_670_116_110_564_327_423_f64));
        let (large, float) = ([(1 << 53) + 1], [9_007_199_254_740_992.0]);
        let distance = measured(&Piece::Signed(&large), &Piece::Floats(&float), Tolerance::default());
        assert_eq!((distance.differing, distance.largest), (1, 1.0));
        let same = measured(
            &Piece::Signed(&[1 << 60]),
            &Piece::Floats(&[1_152_921_504_606_846_976.0]),
            Tolerance::default(),
        );
        assert_eq!((same.values, same.differing), (1, 0));
    }

    #[test]
    fn a_difference_too_large_for_a_double_is_the_largest_double() {
        let distance =
            measured(&Piece::Floats(&[f64::MAX]), &Piece::Floats(&[f64::MIN]), Tolerance::default());
        assert_eq!((distance.largest, distance.relative), (f64::MAX, 1.0));
        let distance = measured(&Piece::Floats(&[1e308; 3]), &Piece::Floats(&[0.0; 3]), Tolerance::default());
        assert_eq!((distance.largest, distance.mean()), (1e308, 1e308));
    }
}
