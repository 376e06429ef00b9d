//! A slice of a tensor, read as bytes or as numbers.

use crate::args::slice::ranges as ranges_of;
use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::input::model::{Model, Tensor};
use crate::input::remote::{GAP, Reader};
use crate::tensor::compare::bits_of_value;
use crate::text::quoted;
use crate::work::Work;
use embedded_safetensors::{
    Dtype, ReadError,
    reader::{Region, SliceReader, Values},
    slice::{AxisRange, SlicePlan},
    values::Element,
};
use safetensors_convert::numbers::Number;
use std::io;
use std::ops::Range;
use std::path::Path;

/// In bytes, and in values.
const CHUNK: usize = 1 << 16;
const VALUES: usize = 1 << 12;

/// A slice of a tensor, or the entire tensor.
pub struct Sliced<'m> {
    model: &'m Model,
    tensor: Tensor<'m>,
    /// None for the entire tensor, which may have more dimensions than slices can have.
    ranges: Option<Vec<AxisRange>>,
    dims: Vec<u64>,
    /// The bytes of the file that are read, of one on a server.
    runs: Vec<Range<u64>>,
}

impl<'m> Sliced<'m> {
    /// The slice `spec` of the tensor of this name, in numpy notation.
    ///
    /// # Errors
    /// There is no such tensor, or no such slice of it.
    pub fn of(model: &'m Model, name: &str, spec: &str) -> Result<Self, Error> {
        let tensor = model.tensor(name)?;
        if spec.trim().is_empty() {
            return Ok(Self::whole(model, tensor));
        }
        let ranges =
            ranges_of(spec, tensor.dims()).map_err(|sentence| about(model.path(), &tensor, &sentence))?;
        let mut sliced = Self { model, tensor, ranges: None, dims: Vec::new(), runs: Vec::new() };
        sliced.dims = sliced.slice(&ranges)?.shape().dims().to_vec();
        sliced.runs = runs(&tensor, &ranges);
        sliced.ranges = Some(ranges);
        Ok(sliced)
    }

    /// An entire tensor.
    pub fn whole(model: &'m Model, tensor: Tensor<'m>) -> Self {
        Self { model, tensor, ranges: None, dims: tensor.dims().to_vec(), runs: Vec::new() }
    }

    pub fn name(&self) -> &'m str {
        self.tensor.name()
    }

    pub fn dtype(&self) -> Dtype {
        self.tensor.dtype()
    }

    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    pub fn elements(&self) -> u64 {
        self.dims.iter().product()
    }

    /// # Errors
    /// The slice does not begin and end at byte boundaries.
    pub fn byte_len(&self) -> Result<u64, Error> {
        match &self.ranges {
            None => Ok(self.tensor.byte_len()),
            Some(ranges) => {
                self.slice(ranges)?.byte_len().map_err(|error| self.about(&error.kind.to_string()))
            }
        }
    }

    fn slice(&self, ranges: &[AxisRange]) -> Result<SliceReader<Reader<'_>>, Error> {
        self.tensor
            .reader_within(&self.runs)
            .slice(ranges)
            .map_err(|error| self.about(&error.kind.to_string()))
    }

    fn about(&self, sentence: &str) -> Error {
        about(self.model.path(), &self.tensor, sentence)
    }

    /// Passes all bytes to `take`, chunk by chunk.
    ///
    /// # Errors
    /// Those of `take`, of the slice and of its file; interruption by the user.
    pub fn bytes(&self, work: &Work, take: &mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
        let mut buffer = vec![0; CHUNK];
        let mut give = |chunk: &[u8]| {
            take(chunk)?;
            work.advance(chunk.len() as u64)
        };
        if let Some(ranges) = &self.ranges {
            let mut reader = self.slice(ranges)?;
            while let Some(chunk) = reader.next_chunk(&mut buffer).map_err(|error| self.not_read(error))? {
                give(chunk)?;
            }
            return Ok(());
        }
        let mut reader = self.tensor.reader();
        while let Some(chunk) = reader.next_chunk(&mut buffer).map_err(|error| self.not_read(error))? {
            give(chunk)?;
        }
        Ok(())
    }

    /// Passes all numbers to `take` until it has enough, which `is_cut` announces, and the length of what was
    /// read to `advance`. Complex numbers are two numbers each.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes); those of `advance`.
    pub fn numbers(
        &self,
        is_cut: bool,
        advance: &dyn Fn(u64) -> Result<(), Error>,
        take: &mut dyn FnMut(Number) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        use Dtype::{BOOL, I8, I16, I32, I64, U8, U16, U32, U64};
        match self.dtype() {
            U64 => self.values::<u64>(is_cut, advance, take),
            BOOL | I8 | I16 | I32 | I64 | U8 | U16 | U32 => self.values::<i64>(is_cut, advance, take),
            _ => self.values::<f64>(is_cut, advance, take),
        }
    }

    fn values<T: Element + Into<Number>>(
        &self,
        is_cut: bool,
        advance: &dyn Fn(u64) -> Result<(), Error>,
        take: &mut dyn FnMut(Number) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        match &self.ranges {
            None if is_cut => self.give::<T>(self.tensor.reader_within(&[]).values(), advance, take),
            Some(ranges) => self.give::<T>(self.slice(ranges)?.values(), advance, take),
            None => self.give::<T>(self.tensor.reader().values(), advance, take),
        }
    }

    fn give<T: Element + Into<Number>>(
        &self,
        mut reader: Values<Reader<'_>, impl Region>,
        advance: &dyn Fn(u64) -> Result<(), Error>,
        take: &mut dyn FnMut(Number) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let mut buffer = vec![T::ZERO; VALUES];
        while let values @ [_, ..] = reader.read(&mut buffer).map_err(|error| self.not_read(error))? {
            advance(values.len() as u64 * bits_of_value(self.dtype()) / 8)?;
            for &value in values {
                if !take(value.into())? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn not_read(&self, error: ReadError<io::Error>) -> Error {
        match error {
            ReadError::Format(error) => self.about(&error.kind.to_string()),
            error => Error::not_read(self.model.path(), NotRead::from(io::Error::from(error))),
        }
    }
}

/// The bytes of a slice in a file on a server. Short gaps are read, too.
fn runs(tensor: &Tensor<'_>, ranges: &[AxisRange]) -> Vec<Range<u64>> {
    let mut merged: Vec<Range<u64>> = Vec::new();
    let plan = SlicePlan::new(tensor.dtype(), tensor.dims(), ranges);
    let (Some(_), Ok(runs)) = (tensor.model().remote(), plan.and_then(|plan| plan.byte_runs())) else {
        return merged;
    };
    let start = tensor.in_file().start;
    for run in runs {
        let run = start + run.start..start + run.end;
        match merged.last_mut() {
            Some(last) if run.start - last.end < GAP => last.end = run.end,
            _ => merged.push(run),
        }
    }
    merged
}

/// An error about a tensor.
pub fn about(path: &Path, tensor: &Tensor<'_>, sentence: &str) -> Error {
    Error::about(path, format!("tensor {}: {sentence}", quoted(tensor.name())))
}
