//! A quantised matrix: opens a model, finds its tensors, and reads or multiplies all rows.

use crate::frame::{Job, Step};
use crate::network::{BLOCK, Network, Outcome};
use board::Card;
use embedded_safetensors::{Dtype, Error, Model, quant::Matrix, query::Query};

/// The number of values in a row.
const ROW: usize = 64;

/// The number of values that share a scale.
const GROUP: u64 = 32;

/// Opens the model, finds the tensors and does something with the matrix of the first two, weights and
/// scales; returns how many values it has, `None` after an error.
#[inline(always)]
pub fn open_find_matrix(
    job: &mut Job<Network>,
    work: impl FnOnce(&mut Model<&mut Card>, &Matrix) -> Outcome,
) -> Option<u32> {
    let Network { card, queries } = &mut job.memory;
    *card = Card::new(job.file);
    let block = &mut [0; BLOCK];
    let mut model = Model::open(card, block).ok()?;
    model.find_all(&mut queries[..], block).ok()?;
    if job.last != Step::All {
        return Some(0);
    }
    let [weights, scales, ..] = &**queries;
    work(&mut model, &matrix(weights, scales).ok()?).ok()
}

/// Chooses the layout by the dtype of the weights.
fn matrix(weights: &Query<'_>, scales: &Query<'_>) -> Result<Matrix, Error> {
    match weights.info().map(|info| info.dtype()) {
        Some(Dtype::F4) => Matrix::mxfp4(weights, scales),
        Some(Dtype::U8) => Matrix::q4(weights, scales, None, GROUP),
        _ => Matrix::q8(weights, scales, None),
    }
}

/// Reads all rows as `f32`.
#[inline(never)]
pub fn read_quantised(model: &mut Model<&mut Card>, matrix: &Matrix) -> Outcome {
    let mut rows = model.quantized(matrix)?;
    let (mut row, mut values) = ([0f32; ROW], 0);
    for index in 0..rows.rows() {
        rows.read_row(index, &mut row)?;
        values += core::hint::black_box(&row).len();
    }
    Ok(values as u32)
}

/// Multiplies all rows by a vector of integers.
#[inline(never)]
pub fn multiply_quantised(model: &mut Model<&mut Card>, matrix: &Matrix) -> Outcome {
    let mut rows = model.quantized(matrix)?;
    let (mut weights, inputs) = ([0; ROW], core::hint::black_box([3i8; ROW]));
    let mut values = 0;
    for index in 0..rows.rows() {
        core::hint::black_box(rows.dot(index, &inputs, &mut weights)?);
        values += inputs.len();
    }
    Ok(values as u32)
}
