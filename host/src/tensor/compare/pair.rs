//! Compares two tensors of one name.

use crate::error::Error;
use crate::input::model::Tensor;
use crate::input::remote::Reader;
use crate::tensor::compare::distance::{Distance, Tolerance};
use crate::tensor::compare::value::Values;
use crate::work::Work;
use embedded_safetensors::{Dtype, ReadError, TensorReader};
use std::io;

/// Bytes compared at a time: complete elements of every dtype.
const CHUNK: usize = 3 << 16;

/// The result of a comparison.
#[derive(Debug)]
pub enum Likeness {
    /// Identical in every respect.
    Identical,
    /// Different shapes.
    Shape,
    /// One is complex.
    Incomparable,
    /// Same shape; the distance of the values.
    Values(Box<Distance>),
}

impl Likeness {
    /// Compares the data of two tensors.
    pub fn of(a: &Tensor<'_>, b: &Tensor<'_>, tolerance: &Tolerance, work: &Work) -> Result<Self, Error> {
        if a.dims() != b.dims() {
            return Ok(Self::Shape);
        }
        let dtypes = [a.dtype(), b.dtype()];
        if dtypes[0] != dtypes[1] {
            let complex = dtypes.contains(&Dtype::C64);
            return if complex { Ok(Self::Incomparable) } else { distance(a, b, 0, tolerance, work) };
        }
        let same = same_bytes(a, b, work)?;
        if same == a.byte_len() {
            return Ok(Self::Identical);
        }
        distance(a, b, same, tolerance, work)
    }
}

/// The length of the identical beginning: everything, or complete chunks.
fn same_bytes(a: &Tensor<'_>, b: &Tensor<'_>, work: &Work) -> Result<u64, Error> {
    let (mut ours, mut theirs) = (a.reader(), b.reader());
    let mut buffers = [vec![0; CHUNK], vec![0; CHUNK]];
    let mut at = 0;
    while at < a.byte_len() {
        let [first, second] = &mut buffers;
        let first = read_chunk(&mut ours, first).map_err(|error| not_read(a, error))?;
        let second = read_chunk(&mut theirs, second).map_err(|error| not_read(b, error))?;
        if first != second {
            return Ok(at);
        }
        at += first.len() as u64;
        work.advance(2 * first.len() as u64)?;
    }
    Ok(at)
}

fn read_chunk<'b>(
    reader: &mut TensorReader<'_, Reader<'_>>,
    buffer: &'b mut [u8],
) -> Result<&'b [u8], ReadError<io::Error>> {
    Ok(reader.next_chunk(buffer)?.unwrap_or(&[]))
}

/// The distance of the values after this many identical bytes.
fn distance(
    a: &Tensor<'_>,
    b: &Tensor<'_>,
    same: u64,
    tolerance: &Tolerance,
    work: &Work,
) -> Result<Likeness, Error> {
    let (mut ours, mut theirs) = (Values::new(a.reader()), Values::new(b.reader()));
    let bits = [a, b].map(|tensor| bits_of_value(tensor.dtype()));
    let mut at = same * 8 / bits[0];
    let mut distance = Distance::default();
    distance.add_equal(at);
    while at < ours.len() {
        let first = ours.at(at).map_err(|error| not_read(a, error))?;
        let second = theirs.at(at).map_err(|error| not_read(b, error))?;
        distance.add(at, &first, &second, tolerance);
        let len = first.len().min(second.len()).max(1) as u64;
        at += len;
        work.advance(len * (bits[0] + bits[1]) / 8)?;
    }
    Ok(Likeness::Values(Box::new(distance)))
}

fn not_read(tensor: &Tensor<'_>, error: ReadError<io::Error>) -> Error {
    Error::not_read(tensor.model().path(), error)
}

/// A C64 is two values.
fn bits_of_value(dtype: Dtype) -> u64 {
    if dtype == Dtype::C64 { 32 } else { dtype.bits().into() }
}
