//! What is known about the values of a part of a tensor.

use crate::tensor::stats::moments::{Moments, side_by_side};
use crate::text::short;
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::{Decoder, is_float};
use serde::Serialize;
use std::cmp::Ordering;
use std::fmt;

/// Counts, extremes and moments. All but the first and the counts of NaN and infinities are of finite values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Part {
    /// All values: two for an element of C64.
    pub values: u64,
    pub zeros: u64,
    pub nan: u64,
    pub inf: u64,
    pub negative_inf: u64,
    pub min: Option<Edge>,
    pub max: Option<Edge>,
    #[serde(flatten)]
    pub moments: Moments,
}

/// A smallest or largest value. Those of integers are exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Edge {
    Integer(i128),
    Float(f64),
}

impl Edge {
    /// Of a double that is a value of this dtype; without the sign of a zero.
    #[expect(clippy::cast_possible_truncation, reason = "an integer has no fraction")]
    fn of(dtype: Dtype, value: f64) -> Self {
        match is_float(dtype) || dtype == Dtype::C64 {
            true => Self::Float(value + 0.0),
            false => Self::Integer(value as i128),
        }
    }

    pub fn nearest(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Float(float) => float,
        }
    }

    /// Exact for integers.
    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(one), Self::Integer(other)) => one.cmp(other),
            _ => self.nearest().total_cmp(&other.nearest()),
        }
    }
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(integer) => integer.fmt(f),
            Self::Float(float) => f.write_str(&short(*float)),
        }
    }
}

impl Part {
    /// Of values that occur so many times each. Leaves the finite ones.
    pub fn of<V: Copy>(dtype: Dtype, values: &mut Vec<V>, counted: impl Fn(V) -> (f64, u64)) -> Self {
        let count = values.iter().map(|value| counted(*value).1).sum();
        let mut part = Self { values: count, ..Self::default() };
        if !values.iter().fold(true, |finite, value| finite & counted(*value).0.is_finite()) {
            values.retain(|value| part.is_finite(counted(*value)));
        }
        let zeros = values.iter().map(|value| counted(*value)).filter(|(value, _)| *value == 0.0);
        part.zeros = zeros.map(|(_, count)| count).sum();
        let wider = |[least, largest]: [f64; 2], value| {
            [if value < least { value } else { least }, if value > largest { value } else { largest }]
        };
        if let Some(first) = values.first() {
            let parts =
                side_by_side(values, [counted(*first).0; 2], |edges, value| wider(edges, counted(value).0));
            let edges = parts.into_iter().flatten().fold(parts[0], wider);
            [part.min, part.max] = edges.map(|edge| Some(Edge::of(dtype, edge)));
        }
        part.moments = Moments::of(values, counted);
        part
    }

    /// Sets the extremes of elements whose integers may be no doubles.
    pub fn set_integers(&mut self, dtype: Dtype, bytes: &[u8]) {
        let eights = bytes.as_chunks::<8>().0.iter();
        match dtype {
            Dtype::I64 => self.set_exact(eights.map(|bytes| i64::from_le_bytes(*bytes))),
            Dtype::U64 => self.set_exact(eights.map(|bytes| u64::from_le_bytes(*bytes))),
            _ => {}
        }
    }

    fn set_exact<T: Ord + Into<i128>>(&mut self, values: impl Iterator<Item = T> + Clone) {
        let edge = |value: T| Edge::Integer(value.into());
        (self.min, self.max) = (values.clone().min().map(edge), values.max().map(edge));
    }

    /// Whether a value is finite; otherwise it is counted so many times.
    fn is_finite(&mut self, (value, count): (f64, u64)) -> bool {
        match value {
            value if value.is_nan() => self.nan += count,
            f64::INFINITY => self.inf += count,
            f64::NEG_INFINITY => self.negative_inf += count,
            _ => return true,
        }
        false
    }

    /// Adds the part that follows.
    pub fn merge(&mut self, other: &Self) {
        self.values += other.values;
        self.zeros += other.zeros;
        self.nan += other.nan;
        self.inf += other.inf;
        self.negative_inf += other.negative_inf;
        self.min = self.min.into_iter().chain(other.min).min_by(Edge::order);
        self.max = self.max.into_iter().chain(other.max).max_by(Edge::order);
        self.moments.merge(&other.moments);
    }

    pub fn infinities(&self) -> u64 {
        self.inf + self.negative_inf
    }
}

/// The values of whole elements; two for each of C64. 64-bit integers are rounded to the nearest double.
pub fn decode(dtype: Dtype, bytes: &[u8], values: &mut Vec<f64>) {
    let dtype = if dtype == Dtype::C64 { Dtype::F32 } else { dtype };
    Decoder::new(dtype).decode_doubles(bytes, values).expect("whole elements");
}
