//! The elements of a tensor as exact numbers.

use crate::input::remote::Reader;
use embedded_safetensors::{Dtype, ReadError, TensorReader, reader};
use safetensors_convert::numbers::Number;
use std::io;

/// The number of values of each tensor in memory.
const CHUNK: usize = 16 * 1024;

/// A number in readable form.
pub fn shown(number: Number) -> String {
    match number {
        Number::Signed(integer) => integer.to_string(),
        Number::Unsigned(integer) => integer.to_string(),
        Number::Float(float) if is_short_integer(float) => float.to_string(),
        Number::Float(float) => shortest(float),
    }
}

fn is_short_integer(float: f64) -> bool {
    float.fract() == 0.0 && float.abs() < 1e15
}

/// A number of single precision gets as few digits as that needs.
#[expect(clippy::cast_possible_truncation, reason = "the next line checks whether precision is lost")]
fn shortest(float: f64) -> String {
    let single = float as f32;
    if f64::from(single) == float { format!("{single:?}") } else { format!("{float:?}") }
}

/// Some consecutive values of a tensor.
pub enum Piece<'b> {
    Floats(&'b [f64]),
    Signed(&'b [i64]),
    Unsigned(&'b [u64]),
}

impl Piece<'_> {
    pub fn len(&self) -> usize {
        match self {
            Self::Floats(values) => values.len(),
            Self::Signed(values) => values.len(),
            Self::Unsigned(values) => values.len(),
        }
    }

    pub fn values(&self) -> Box<dyn Iterator<Item = Number> + '_> {
        match self {
            Self::Floats(values) => Box::new(values.iter().map(|&value| value.into())),
            Self::Signed(values) => Box::new(values.iter().map(|&value| value.into())),
            Self::Unsigned(values) => Box::new(values.iter().map(|&value| value.into())),
        }
    }
}

/// Reads a tensor's values.
pub struct Values<'m> {
    reader: reader::Values<Reader<'m>>,
    held: Held,
}

enum Held {
    Floats(Vec<f64>),
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
}

impl<'m> Values<'m> {
    /// A C64 has two values per element.
    pub fn new(reader: TensorReader<'m, Reader<'m>>) -> Self {
        let held = match reader.dtype() {
            Dtype::I64 => Held::Signed(vec![0; CHUNK]),
            Dtype::U64 => Held::Unsigned(vec![0; CHUNK]),
            _ => Held::Floats(vec![0.0; CHUNK]),
        };
        Self { reader: reader.values(), held }
    }

    pub fn len(&self) -> u64 {
        self.reader.len()
    }

    /// The values from this position on, as many as fit or remain.
    pub fn at(&mut self, position: u64) -> Result<Piece<'_>, ReadError<io::Error>> {
        self.reader.seek(position).map_err(ReadError::Format)?;
        Ok(match &mut self.held {
            Held::Floats(values) => Piece::Floats(self.reader.read(values)?),
            Held::Signed(values) => Piece::Signed(self.reader.read(values)?),
            Held::Unsigned(values) => Piece::Unsigned(self.reader.read(values)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Number, shown};

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
