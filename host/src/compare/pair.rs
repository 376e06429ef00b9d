//! Two tensors of one name.

use crate::compare::distance::{Distance, Tolerance};
use crate::compare::value::Values;
use crate::complaint::Complaint;
use crate::model::{Model, Tensor};
use crate::sums::{Trouble, path_of};
use crate::work::Work;
use embedded_safetensors::{Dtype, FileModel, ReadError, TensorReader};
use std::io;
use std::path::Path;

/// How many bytes are compared at a time: whole elements of every dtype.
const CHUNK: usize = 3 << 16;

/// A tensor, and the file that it is in.
pub struct Side<'m> {
    pub tensor: Tensor<'m>,
    path: &'m Path,
}

impl<'m> Side<'m> {
    pub fn of(model: &'m Model, tensor: Tensor<'m>) -> Self {
        Self { tensor, path: path_of(model, &tensor) }
    }

    /// Why something of it cannot be read.
    fn trouble(&self, error: ReadError<io::Error>) -> Complaint {
        Trouble::from(error).about(self.path)
    }
}

/// How two tensors compare.
#[derive(Debug)]
pub enum Likeness {
    /// In all that they have.
    Identical,
    /// The shapes are not the same.
    Shape,
    /// One is complex.
    Incomparable,
    /// Of the same shape: how far apart the values are.
    Values(Box<Distance>),
}

impl Likeness {
    /// Compares the data of two tensors.
    pub fn of(a: &Side<'_>, b: &Side<'_>, tolerance: &Tolerance, work: &Work) -> Result<Self, Complaint> {
        if a.tensor.dims() != b.tensor.dims() {
            return Ok(Self::Shape);
        }
        let dtypes = [a.tensor.dtype(), b.tensor.dtype()];
        if dtypes[0] != dtypes[1] {
            let complex = dtypes.contains(&Dtype::C64);
            return if complex { Ok(Self::Incomparable) } else { distance(a, b, 0, tolerance, work) };
        }
        let same = same_bytes(a, b, work)?;
        if same == a.tensor.byte_len() {
            return Ok(Self::Identical);
        }
        distance(a, b, same, tolerance, work)
    }
}

/// The length of what is the same at the beginning: all, or a number of whole chunks.
fn same_bytes(a: &Side<'_>, b: &Side<'_>, work: &Work) -> Result<u64, Complaint> {
    let (mut ours, mut theirs) = (a.tensor.reader(), b.tensor.reader());
    let mut buffers = [vec![0; CHUNK], vec![0; CHUNK]];
    let mut at = 0;
    while at < a.tensor.byte_len() {
        let [first, second] = &mut buffers;
        let first = read_chunk(&mut ours, first).map_err(|error| a.trouble(error))?;
        let second = read_chunk(&mut theirs, second).map_err(|error| b.trouble(error))?;
        if first != second {
            return Ok(at);
        }
        at += first.len() as u64;
        work.advance(2 * first.len() as u64)?;
    }
    Ok(at)
}

fn read_chunk<'b>(
    reader: &mut TensorReader<'_, &FileModel>,
    buffer: &'b mut [u8],
) -> Result<&'b [u8], ReadError<io::Error>> {
    Ok(reader.next_chunk(buffer)?.unwrap_or(&[]))
}

/// Of values behind so many bytes that are the same.
fn distance(
    a: &Side<'_>,
    b: &Side<'_>,
    same: u64,
    tolerance: &Tolerance,
    work: &Work,
) -> Result<Likeness, Complaint> {
    let (mut ours, mut theirs) = (Values::new(a.tensor.reader()), Values::new(b.tensor.reader()));
    let bits = [a, b].map(|side| bits_of_value(side.tensor.dtype()));
    let mut at = same * 8 / bits[0];
    let mut distance = Distance::default();
    distance.add_equal(at);
    while at < ours.len() {
        let first = ours.at(at).map_err(|error| a.trouble(error))?;
        let second = theirs.at(at).map_err(|error| b.trouble(error))?;
        distance.add(at, &first, &second, tolerance);
        let len = first.len().min(second.len()).max(1) as u64;
        at += len;
        work.advance(len * (bits[0] + bits[1]) / 8)?;
    }
    Ok(Likeness::Values(Box::new(distance)))
}

/// A C64 is two values.
fn bits_of_value(dtype: Dtype) -> u64 {
    if dtype == Dtype::C64 { 32 } else { dtype.bits().into() }
}
