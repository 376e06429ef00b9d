//! A quantised matrix of each layout.

use crate::numbers::read_number;
use core::hint::black_box;
use embedded_safetensors::{Error, ErrorKind, Model, ReadAt, ReadError, TensorInfo, validate::SortSlot};
use safetensors_quant::{Matrix, QuantReader};

/// Reads and multiplies rows of matrices of every layout, whose tensors may not match.
pub fn of_every_layout<S: ReadAt>(source: S, slots: &mut [SortSlot], memory: &mut [u8]) -> u64 {
    let outcome = Model::open_unordered(source, slots, memory).and_then(|mut model| {
        let weights = model.find("a", memory)?.ok_or(ErrorKind::NoWindow.at(0))?;
        let scales = model.find("b", memory)?.ok_or(ErrorKind::NoWindow.at(1))?;
        let zeros = model.find("c", memory)?;
        let mut sum = 0;
        for matrix in layouts(&weights, &scales, zeros) {
            sum ^= of_layout(&mut model, &matrix?, memory)?;
        }
        Ok(sum)
    });
    read_number(outcome)
}

fn layouts(
    weights: &TensorInfo,
    scales: &TensorInfo,
    zeros: Option<TensorInfo>,
) -> [Result<Matrix, Error>; 6] {
    let group = black_box(weights.begin());
    [
        Matrix::q8(weights, scales, zeros),
        Matrix::q4(weights, scales, zeros, group),
        Matrix::mxfp4(weights, scales),
        Matrix::nvfp4(weights, scales, scales),
        Matrix::nvfp4_packed(weights, scales, scales),
        Matrix::fp8(weights, scales),
    ]
}

#[inline(never)]
fn of_layout<S: ReadAt>(
    model: &mut Model<S>,
    matrix: &Matrix,
    memory: &mut [u8],
) -> Result<u64, ReadError<S::Error>> {
    let mut reader = QuantReader::new(model, matrix)?;
    let (mut values, inputs) = ([0.0; 96], black_box([1; 96]));
    let columns = reader.columns() as usize;
    let (Some(values), Some(inputs)) = (values.get_mut(..columns), inputs.get(..columns)) else {
        return Ok(reader.group());
    };
    let mut sum = reader.row_len();
    for row in 0..reader.rows() {
        reader.read_row(row, values)?;
        let product = reader.dot(row, inputs, memory)?;
        sum ^= u64::from(product.to_bits()) ^ black_box(&values).len() as u64;
    }
    Ok(sum)
}
