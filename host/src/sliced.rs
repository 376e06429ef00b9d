//! A slice of a tensor, read as bytes or as numbers.

use crate::complaint::Complaint;
use crate::failure::NotRead;
use crate::model::{Model, Tensor};
use crate::numbers::Number;
use crate::slicing;
use crate::text::quoted;
use crate::work::Work;
use embedded_safetensors::{AxisRange, Dtype, Element, FileModel, ReadError, SliceReader};
use std::io;
use std::path::Path;

/// In bytes, and in values.
const CHUNK: usize = 1 << 16;
const VALUES: usize = 1 << 12;

/// A part of a tensor, or all of it.
pub struct Sliced<'m> {
    model: &'m Model,
    tensor: Tensor<'m>,
    ranges: Vec<AxisRange>,
    dims: Vec<u64>,
}

impl<'m> Sliced<'m> {
    /// The part of the tensor of this name that `spec` says, as numpy has it.
    ///
    /// # Errors
    /// There is no such tensor, or no such part of it.
    pub fn of(model: &'m Model, name: &str, spec: &str) -> Result<Self, Complaint> {
        let tensor = model.tensor(name)?;
        let ranges = slicing::ranges(spec, tensor.dims())
            .map_err(|sentence| about(model.path(), &tensor, &sentence))?;
        let mut sliced = Self { model, tensor, ranges, dims: Vec::new() };
        sliced.dims = sliced.reader()?.shape().dims().to_vec();
        Ok(sliced)
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
    /// The slice does not begin and end with whole bytes.
    pub fn byte_len(&self) -> Result<u64, Complaint> {
        self.reader()?.byte_len().map_err(|error| self.about(&error.kind.to_string()))
    }

    fn reader(&self) -> Result<SliceReader<&'m FileModel>, Complaint> {
        let reader = self.tensor.reader().slice(&self.ranges);
        reader.map_err(|error| self.about(&error.kind.to_string()))
    }

    fn about(&self, sentence: &str) -> Complaint {
        about(self.model.path(), &self.tensor, sentence)
    }

    /// Gives all bytes to `take`, chunk by chunk.
    ///
    /// # Errors
    /// Those of `take`, of the slice and of its file; the user's stop.
    pub fn bytes(
        &self,
        work: &Work,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Complaint>,
    ) -> Result<(), Complaint> {
        let (mut reader, mut buffer) = (self.reader()?, vec![0; CHUNK]);
        while let Some(chunk) = reader.next_chunk(&mut buffer).map_err(|error| self.not_read(error))? {
            take(chunk)?;
            work.advance(chunk.len() as u64)?;
        }
        Ok(())
    }

    /// Gives all numbers to `take`, of complex ones their parts one behind the other, until it has enough.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    pub fn numbers(&self, take: &mut dyn FnMut(Number) -> Result<bool, Complaint>) -> Result<(), Complaint> {
        use Dtype::{BOOL, I8, I16, I32, I64, U8, U16, U32, U64};
        match self.dtype() {
            U64 => self.values(0u64, take),
            BOOL | I8 | I16 | I32 | I64 | U8 | U16 | U32 => self.values(0i64, take),
            _ => self.values(0f64, take),
        }
    }

    fn values<T: Element + Into<Number>>(
        &self,
        zero: T,
        take: &mut dyn FnMut(Number) -> Result<bool, Complaint>,
    ) -> Result<(), Complaint> {
        let (mut reader, mut buffer) = (self.reader()?, vec![zero; VALUES]);
        while let Some(values) = reader.next_lossless(&mut buffer).map_err(|error| self.not_read(error))? {
            Work::check()?;
            for &value in values.iter() {
                if !take(value.into())? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn not_read(&self, error: ReadError<io::Error>) -> Complaint {
        match error {
            ReadError::Format(error) => self.about(&error.kind.to_string()),
            error => Complaint::not_read(self.model.path(), NotRead::from(io::Error::from(error))),
        }
    }
}

fn about(path: &Path, tensor: &Tensor<'_>, sentence: &str) -> Complaint {
    Complaint::about(path, format!("tensor {}: {sentence}", quoted(tensor.name())))
}
