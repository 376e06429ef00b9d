//! What is known about the values of a part of a tensor.

use crate::tensor::stats::moments::Moments;
use safetensors_convert::numbers::Number;

/// Counts, extremes and moments. All but the first four are of finite values only.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Aggregate {
    /// All values: two for an element of C64.
    pub values: u64,
    pub nan: u64,
    /// Infinities of each sign.
    pub positive: u64,
    pub negative: u64,
    pub zeros: u64,
    pub least: Option<Number>,
    pub largest: Option<Number>,
    pub moments: Moments,
}

impl Aggregate {
    /// Adds the part that follows.
    pub fn merge(&mut self, other: &Self) {
        self.values += other.values;
        self.nan += other.nan;
        self.positive += other.positive;
        self.negative += other.negative;
        self.zeros += other.zeros;
        self.least = pick(self.least, other.least, |one, other| is_less(other, one));
        self.largest = pick(self.largest, other.largest, is_less);
        self.moments.merge(&other.moments);
    }

    pub fn infinities(&self) -> u64 {
        self.positive + self.negative
    }

    /// The number of values that are neither NaN nor infinite.
    pub fn finite(&self) -> u64 {
        self.values - self.nan - self.infinities()
    }
}

fn pick(
    one: Option<Number>,
    other: Option<Number>,
    takes_other: fn(Number, Number) -> bool,
) -> Option<Number> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if takes_other(one, other) { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// Exact for numbers of one kind.
fn is_less(one: Number, other: Number) -> bool {
    match (one, other) {
        (Number::Signed(one), Number::Signed(other)) => one < other,
        (Number::Unsigned(one), Number::Unsigned(other)) => one < other,
        _ => one.nearest() < other.nearest(),
    }
}
