//! Produces the new tensors of a layer: transposed, and with two values a byte.

use super::layer::{Layer, Part};
use super::packing::{INTEGER, Packing};
use crate::error::Error;
use crate::input::model::Tensor;
use crate::output::writer::Take;
use crate::tensor::slice::about;
use crate::work::Work;
use std::path::Path;

/// Bytes of a matrix in memory.
const BAND: usize = 4 << 20;

impl Layer<'_> {
    /// Passes the bytes of a new tensor to `take`.
    pub fn make(&self, part: Part, work: &Work, take: Take<'_>) -> Result<(), Error> {
        match part {
            Part::Weights if self.packing == Packing::Awq => {
                each_column(self.path, &self.weights, work, &mut |column| self.unpack(column, take))
            }
            // Eight inputs of an output are four bytes of its row already.
            Part::Weights => each_column(self.path, &self.weights, work, take),
            Part::Scales => each_column(self.path, &self.scales, work, take),
            Part::ZeroPoints => {
                let zeros = zero_points(self)?;
                let outputs = usize::try_from(self.outputs).unwrap_or(usize::MAX);
                for output in 0..outputs {
                    let row: Vec<u8> = zeros.iter().skip(output).step_by(outputs).copied().collect();
                    take(&row)?;
                }
                work.advance(self.zeros.byte_len())
            }
        }
    }

    /// Rewrites a column of integers with eight outputs of one input each.
    fn unpack(&self, column: &[u8], take: Take<'_>) -> Result<(), Error> {
        let mut rows = [const { Vec::new() }; 8];
        for (input, bytes) in column.chunks_exact(INTEGER).enumerate() {
            for (row, value) in rows.iter_mut().zip(self.packing.values(integer(bytes))) {
                match row.last_mut() {
                    Some(byte) if input % 2 == 1 => *byte |= value << 4,
                    _ => row.push(value),
                }
            }
        }
        rows.iter().try_for_each(|row| take(row))
    }
}

fn integer(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// The zero points of a layer, group by group.
///
/// # Errors
/// One is ambiguous; the tensor cannot be read.
pub fn zero_points(layer: &Layer<'_>) -> Result<Vec<u8>, Error> {
    let stored = integers(layer.path, &layer.zeros)?;
    let zeros = stored.into_iter().flat_map(|integer| layer.packing.values(integer));
    let zeros: Option<Vec<u8>> = zeros.map(|stored| layer.packing.zero_point(stored)).collect();
    zeros.ok_or_else(|| {
        let sentence = "has the zero point 15, which readers of GPTQ's first format take for 0 or for 16: if the \
                        checkpoint format is gptq_v2, use --from gptq-v2";
        about(layer.path, &layer.zeros, sentence)
    })
}

/// The 32-bit integers of a small tensor.
pub fn integers(path: &Path, tensor: &Tensor<'_>) -> Result<Vec<u32>, Error> {
    let mut bytes = vec![0; usize::try_from(tensor.byte_len()).unwrap_or(usize::MAX)];
    tensor.reader().read_at(0, &mut bytes).map_err(|error| Error::not_read(path, error))?;
    Ok(bytes.chunks_exact(INTEGER).map(integer).collect())
}

/// Passes the columns of a matrix to `take`. Reads bands of columns that fit into memory, at least one.
fn each_column(path: &Path, matrix: &Tensor<'_>, work: &Work, take: Take<'_>) -> Result<(), Error> {
    let dim = |axis| matrix.dims().get(axis).map_or(0, |&dim| usize::try_from(dim).unwrap_or(usize::MAX));
    let (rows, columns, width) = (dim(0), dim(1), usize::from(matrix.dtype().bits() / 8));
    let most = (BAND / width / rows.max(1)).max(1);
    let (mut reader, mut band, mut column) = (matrix.reader(), Vec::new(), Vec::new());
    for first in (0..columns).step_by(most) {
        let len = most.min(columns - first) * width;
        band.resize(rows * len, 0);
        for (row, bytes) in band.chunks_exact_mut(len).enumerate() {
            let read = reader.read_at(((row * columns + first) * width) as u64, bytes);
            read.map_err(|error| Error::not_read(path, error))?;
            work.advance(len as u64)?;
        }
        for at in (0..len).step_by(width) {
            column.clear();
            band.chunks_exact(len).for_each(|row| column.extend_from_slice(&row[at..at + width]));
            take(&column)?;
        }
    }
    Ok(())
}
