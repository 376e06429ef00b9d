//! Blocks of elements as numbers, with which merges are computed.

use super::about;
use crate::error::Error;
use crate::input::model::Tensor;
use crate::input::remote::Reader;
use crate::output::writer::Take;
use crate::text::grouped;
use crate::work::Work;
use embedded_safetensors::{Dtype, TensorReader};
use safetensors_convert::numbers::{Caster, Decoder};

/// The most elements of a block: 2 MiB of numbers.
pub const BLOCK: u64 = 1 << 18;

/// Parts of at most so many items: the first item of each, and their number.
pub fn parts(len: u64, most: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..len.div_ceil(most)).map(move |part| (part * most, most.min(len - part * most)))
}

/// Reads blocks of elements of a tensor.
pub struct Blocks<'m> {
    tensor: Tensor<'m>,
    reader: TensorReader<'m, Reader<'m>>,
    decoder: Decoder,
    bytes: Vec<u8>,
    numbers: Vec<f64>,
}

impl<'m> Blocks<'m> {
    pub fn of(tensor: Tensor<'m>) -> Self {
        let (reader, decoder) = (tensor.reader(), Decoder::new(tensor.dtype()));
        Self { tensor, reader, decoder, bytes: Vec::new(), numbers: Vec::new() }
    }

    /// Reads bytes, from this one on.
    ///
    /// # Errors
    /// Those of the file.
    pub fn bytes(&mut self, first: u64, count: u64) -> Result<&[u8], Error> {
        self.bytes.resize(usize::try_from(count).unwrap_or(usize::MAX), 0);
        let read = self.reader.read_at(first, &mut self.bytes);
        read.map_err(|error| Error::not_read(self.tensor.model().path(), error))?;
        Ok(&self.bytes)
    }

    /// Reads elements as numbers, from this one on.
    ///
    /// # Errors
    /// Those of the file.
    pub fn numbers(&mut self, first: u64, count: u64) -> Result<&mut [f64], Error> {
        let width = u64::from(self.tensor.dtype().bits() / 8);
        self.bytes(first * width, count * width)?;
        let decoded = self.decoder.decode_doubles(&self.bytes, &mut self.numbers);
        decoded.map_err(|error| about(&self.tensor, &error.to_string()))?;
        Ok(&mut self.numbers)
    }
}

/// Rounds numbers to the elements of a tensor of the output.
pub struct Rounded<'m> {
    tensor: Tensor<'m>,
    caster: Caster,
    bytes: Vec<u8>,
    elements: Vec<u8>,
}

impl<'m> Rounded<'m> {
    /// # Errors
    /// Numbers are not rounded to its dtype.
    pub fn of(tensor: Tensor<'m>) -> Result<Self, Error> {
        let caster = Caster::new(Dtype::F64, tensor.dtype(), false);
        let caster = caster.ok_or_else(|| about(&tensor, "numbers of its dtype are not merged"))?;
        Ok(Self { tensor, caster, bytes: Vec::new(), elements: Vec::new() })
    }

    /// Passes the nearest elements to `take`.
    ///
    /// # Errors
    /// A finite number is too large for the dtype; those of `take`.
    pub fn give(&mut self, numbers: &[f64], work: &Work, take: Take<'_>) -> Result<(), Error> {
        self.bytes.clear();
        self.bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        let report = self.caster.cast(&self.bytes, &mut self.elements);
        let report = report.map_err(|error| about(&self.tensor, &error.to_string()))?;
        if report.overflowed > 0 {
            let (count, dtype) = (grouped(report.overflowed), self.tensor.dtype());
            let sentence = format!("{count} merged numbers are too large for {dtype}: is the scale right?");
            return Err(about(&self.tensor, &sentence));
        }
        take(&self.elements)?;
        work.advance(self.elements.len() as u64)
    }
}
