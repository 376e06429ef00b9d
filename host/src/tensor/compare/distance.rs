//! The distance between the values of two tensors.

use super::models::Policy;
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::{Mean, Number};
use serde::{Serialize, Serializer};

/// Two different values.
#[derive(Debug, Serialize)]
pub struct Place {
    /// The position among the tensor's values, from which [`Distance::finish`] finds the index.
    #[serde(skip)]
    at: u64,
    pub index: Vec<u64>,
    #[serde(serialize_with = "both_shown")]
    pub values: [Number; 2],
}

/// The summary of all pairs of values.
#[derive(Debug, Default, Serialize)]
pub struct Distance {
    pub values: u64,
    /// Pairs that are not equal.
    pub differing: u64,
    /// Pairs outside of the tolerance.
    pub beyond: u64,
    /// Pairs with exactly one NaN, or with an infinity and another value.
    pub not_finite: u64,
    /// The largest difference of all other pairs.
    pub max_abs: f64,
    /// Their mean difference, equal ones included. Known when [`finish`](Self::finish) is called.
    pub mean_abs: f64,
    /// Their largest difference relative to the larger value.
    pub max_relative: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_abs_at: Option<Place>,
    /// The first pair that is not finite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_finite_at: Option<Place>,
    #[serde(skip)]
    pub sum: Mean,
}

impl Distance {
    /// Adds the next values.
    pub fn add<A: Copy + Into<Number>, B: Copy + Into<Number>>(&mut self, a: &[A], b: &[B], policy: &Policy) {
        for (at, (&a, &b)) in (self.values..).zip(a.iter().zip(b)) {
            let (a, b) = (a.into(), b.into());
            if !are_equal(a, b) {
                self.add_pair(Place { at, index: Vec::new(), values: [a, b] }, policy);
            }
        }
        self.values += a.len() as u64;
    }

    fn add_pair(&mut self, place: Place, policy: &Policy) {
        self.differing += 1;
        let [a, b] = place.values.map(Number::nearest);
        if !(a.is_finite() && b.is_finite()) {
            self.not_finite += 1;
            self.beyond += 1;
            self.not_finite_at.get_or_insert(place);
            return;
        }
        let (distance, magnitude) = (distance(place.values), a.abs().max(b.abs()));
        self.sum.add(distance);
        self.beyond += u64::from(distance > policy.absolute && distance > policy.relative * magnitude);
        self.max_relative = self.max_relative.max(distance / magnitude);
        if distance > self.max_abs || self.max_abs_at.is_none() {
            self.max_abs = distance;
            self.max_abs_at = Some(place);
        }
    }

    /// Computes what needs all values, of tensors of this dtype and shape.
    pub fn finish(mut self, dtype: Dtype, dims: &[u64]) -> Self {
        self.mean_abs = self.sum.of(self.values - self.not_finite);
        for place in [&mut self.max_abs_at, &mut self.not_finite_at].into_iter().flatten() {
            place.index = index_of(place.at, dtype, dims);
        }
        self
    }
}

/// The index of a value in its tensor. A C64 has two values per index.
pub fn index_of(value: u64, dtype: Dtype, dims: &[u64]) -> Vec<u64> {
    let mut rest = if dtype == Dtype::C64 { value / 2 } else { value };
    let mut index: Vec<u64> = Vec::with_capacity(dims.len());
    for &dim in dims.iter().rev() {
        index.push(rest % dim.max(1));
        rest /= dim.max(1);
    }
    index.reverse();
    index
}

fn are_equal(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Float(a), Number::Float(b)) => a == b || a.is_nan() && b.is_nan(),
        _ => integer(a).is_some() && integer(a) == integer(b),
    }
}

/// Exact if both are integers, even if one is stored as a float. Too large for a double counts as the
/// largest double.
fn distance([a, b]: [Number; 2]) -> f64 {
    match (a, b) {
        (Number::Float(a), Number::Float(b)) => (a - b).abs().min(f64::MAX),
        _ => match (integer(a), integer(b)) {
            (Some(a), Some(b)) => a.abs_diff(b) as f64,
            _ => (a.nearest() - b.nearest()).abs(),
        },
    }
}

/// The value, if it is an integer of relevant size.
#[expect(clippy::cast_possible_truncation, reason = "an integer that fits")]
fn integer(number: Number) -> Option<i128> {
    match number {
        Number::Float(float) => (float.fract() == 0.0 && float.abs() < 1e30).then_some(float as i128),
        Number::Signed(integer) => Some(integer.into()),
        Number::Unsigned(integer) => Some(integer.into()),
    }
}

fn both_shown<S: Serializer>(values: &[Number; 2], to: S) -> Result<S::Ok, S::Error> {
    values.map(shown).serialize(to)
}

/// A number in readable form. One of single precision gets as few digits as that needs.
#[expect(clippy::cast_possible_truncation, reason = "the comparison shows whether precision is lost")]
pub fn shown(number: Number) -> String {
    match number {
        Number::Signed(integer) => integer.to_string(),
        Number::Unsigned(integer) => integer.to_string(),
        Number::Float(float) if float.fract() == 0.0 && float.abs() < 1e15 => float.to_string(),
        Number::Float(float) if f64::from(float as f32) == float => format!("{:?}", float as f32),
        Number::Float(float) => format!("{float:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Distance, Number, shown};
    use crate::tensor::compare::Policy;
    use embedded_safetensors::Dtype;

    fn measured(a: &[f64], b: &[f64], (absolute, relative): (f64, f64)) -> Distance {
        let mut distance = Distance { values: 10, ..Distance::default() };
        distance.add(a, b, &Policy { absolute, relative, ..Policy::default() });
        distance.values -= 10;
        distance.finish(Dtype::F64, &[100])
    }

    #[test]
    fn what_is_not_finite_is_equal_to_itself_and_never_near() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let (a, b) = ([nan, inf, nan, inf, 1.0, inf, 0.0], [-nan, inf, 1.0, 2.0, -inf, -inf, -0.0]);
        let distance = measured(&a, &b, (f64::MAX, f64::MAX));
        assert_eq!((distance.differing, distance.not_finite, distance.beyond), (4, 4, 4));
        assert_eq!(distance.not_finite_at.map(|place| place.index), Some(vec![12]));
        assert_eq!((distance.max_abs, distance.mean_abs), (0.0, 0.0));
    }

    #[test]
    fn a_difference_too_large_for_a_double_is_the_largest_double() {
        let distance = measured(&[f64::MAX], &[f64::MIN], (0.0, 0.0));
        assert_eq!((distance.max_abs, distance.max_relative), (f64::MAX, 1.0));
        let distance = measured(&[1e308; 3], &[0.0; 3], (0.0, 0.0));
        assert_eq!((distance.max_abs, distance.mean_abs), (1e308, 1e308));
    }

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        for (number, text) in [
            (Number::Float(f64::from(0.1_f32)), "0.1"),
            (Number::Float(0.1), "0.1"),
            (Number::Float(0.1 + 0.2), "0.30000000000000004"),
            (Number::Float(-3.0), "-3"),
            (Number::Float(1e30), "1e30"),
            (Number::Float(f64::NAN), "NaN"),
            (Number::Float(f64::NEG_INFINITY), "-inf"),
            (Number::Unsigned(u64::MAX), "18446744073709551615"),
        ] {
            assert_eq!(shown(number), text);
        }
    }
}
