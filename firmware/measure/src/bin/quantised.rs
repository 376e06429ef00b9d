//! Opens a model, finds a quantised matrix and reads it row by row, as `f32`.
#![no_std]
#![no_main]

use core::hint::black_box;
use embedded_safetensors::{Dtype, Error, Model, query::Query};
use measure::{Card, Job, Outcome, Step};
use safetensors_quant::{Matrix, QuantReader};

/// The number of values in a row.
const ROW: usize = 64;
/// The number of values that share a scale.
const GROUP: u64 = 32;

measure::program!(|job| job.done = read(job).ok());

fn read(job: &mut Job) -> Outcome {
    let mut queries = [Query::required(job.name), Query::required("scales"), Query::optional("global")];
    let mut model = Model::open_with(Card::new(job.file), &mut queries, job.window)?;
    if job.last != Step::All {
        return Ok(0);
    }
    let [weights, scales, global] = &queries;
    let mut rows = QuantReader::new(&mut model, &matrix(weights, scales, global)?)?;
    let (mut row, mut values) = ([0f32; ROW], 0);
    for index in 0..rows.rows() {
        rows.read_row(index, &mut row)?;
        values += black_box(&row).len();
    }
    Ok(values as u32)
}

/// Chooses the layout by the dtype of the weights, and by a global scale.
fn matrix(weights: &Query<'_>, scales: &Query<'_>, global: &Query<'_>) -> Result<Matrix, Error> {
    match weights.info().map(|info| info.dtype()) {
        Some(Dtype::F4) if global.info().is_some() => Matrix::nvfp4(weights, scales, global),
        Some(Dtype::F4) => Matrix::mxfp4(weights, scales),
        Some(Dtype::F8_E4M3) => Matrix::fp8(weights, scales),
        Some(Dtype::U8) => Matrix::q4(weights, scales, None, GROUP),
        _ => Matrix::q8(weights, scales, None),
    }
}
