//! Produces the new tensors of a layer: transposed, and with two values a byte.

use super::layer::{Layer, Part, about};
use super::packing::{INTEGER, Packing};
use crate::error::Error;
use crate::input::model::Tensor;
use crate::input::remote::Reader;
use crate::work::Work;
use embedded_safetensors::TensorReader;
use std::path::Path;

/// Bytes of a matrix in memory.
const BAND: usize = 4 << 20;

type Take<'t> = &'t mut dyn FnMut(&[u8]) -> Result<(), Error>;

impl Layer<'_> {
    /// Passes the bytes of a new tensor to `take`.
    ///
    /// # Errors
    /// Those of `take` and of reading; interruption by the user.
    pub fn make(&self, part: Part, work: &Work, take: Take<'_>) -> Result<(), Error> {
        match part {
            Part::Weights if self.packing == Packing::Awq => self.unpack(work, take),
            // Eight inputs of an output are four bytes of its row already.
            Part::Weights => transpose(self.path, &self.weights, work, take),
            Part::Scales => transpose(self.path, &self.scales, work, take),
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

    /// Rewrites weights of which an integer has eight outputs of one input.
    fn unpack(&self, work: &Work, take: Take<'_>) -> Result<(), Error> {
        let mut bands = Bands::new(self.path, &self.weights);
        while let Some(band) = bands.next(work)? {
            for column in 0..band.columns {
                let mut rows = vec![Vec::new(); 8];
                for input in 0..band.rows {
                    let values = self.packing.values(integer(band.element(input, column)));
                    for (row, value) in rows.iter_mut().zip(values) {
                        match row.last_mut() {
                            Some(byte) if input % 2 == 1 => *byte |= value << 4,
                            _ => row.push(value),
                        }
                    }
                }
                rows.iter().try_for_each(|row| take(row))?;
            }
        }
        Ok(())
    }
}

fn integer(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Passes the transposed matrix to `take`.
fn transpose(path: &Path, matrix: &Tensor<'_>, work: &Work, take: Take<'_>) -> Result<(), Error> {
    let mut bands = Bands::new(path, matrix);
    while let Some(band) = bands.next(work)? {
        for column in 0..band.columns {
            let row: Vec<u8> = (0..band.rows).flat_map(|row| band.element(row, column)).copied().collect();
            take(&row)?;
        }
    }
    Ok(())
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
///
/// # Errors
/// It cannot be read.
pub fn integers(path: &Path, tensor: &Tensor<'_>) -> Result<Vec<u32>, Error> {
    let mut bytes = vec![0; usize::try_from(tensor.byte_len()).unwrap_or(usize::MAX)];
    read(path, &mut tensor.reader(), 0, &mut bytes)?;
    Ok(bytes.chunks_exact(INTEGER).map(integer).collect())
}

fn read(
    path: &Path,
    reader: &mut TensorReader<'_, Reader<'_>>,
    at: u64,
    bytes: &mut [u8],
) -> Result<(), Error> {
    match reader.read_at(at, bytes) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::not_read(path, std::io::Error::from(error))),
    }
}

/// Some columns of a matrix, row by row.
struct Band<'b> {
    bytes: &'b [u8],
    rows: usize,
    columns: usize,
    width: usize,
}

impl<'b> Band<'b> {
    fn element(&self, row: usize, column: usize) -> &'b [u8] {
        let at = (row * self.columns + column) * self.width;
        self.bytes.get(at..at + self.width).unwrap_or_default()
    }
}

/// Reads a matrix in bands of columns that fit into memory.
struct Bands<'m> {
    path: &'m Path,
    reader: TensorReader<'m, Reader<'m>>,
    bytes: Vec<u8>,
    dims: [usize; 2],
    width: usize,
    /// The first column of the next band.
    next: usize,
}

impl<'m> Bands<'m> {
    fn new(path: &'m Path, matrix: &Tensor<'m>) -> Self {
        let dims = [0, 1].map(|axis| matrix.dims().get(axis).copied().unwrap_or(0));
        let dims = dims.map(|dim| usize::try_from(dim).unwrap_or(usize::MAX));
        let width = usize::from(matrix.dtype().bits() / 8);
        Self { path, reader: matrix.reader(), bytes: Vec::new(), dims, width, next: 0 }
    }

    /// The next band, at least one column.
    fn next(&mut self, work: &Work) -> Result<Option<Band<'_>>, Error> {
        let Self { dims: [rows, all], width, next: first, .. } = *self;
        let most = (BAND / width / rows.max(1)).max(1);
        let columns = most.min(all - first);
        if columns == 0 {
            return Ok(None);
        }
        self.bytes.resize(rows * columns * width, 0);
        for (row, bytes) in self.bytes.chunks_exact_mut(columns * width).enumerate() {
            read(self.path, &mut self.reader, ((row * all + first) * width) as u64, bytes)?;
            work.advance(bytes.len() as u64)?;
        }
        self.next += columns;
        Ok(Some(Band { bytes: &self.bytes, rows, columns, width }))
    }
}
