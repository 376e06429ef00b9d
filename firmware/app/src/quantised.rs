//! A quantised matrix of each layout, multiplied by a vector: by its values as floats, and in integers.

use crate::failure::Failure;
use crate::report::{Event, Sink};
use embedded_safetensors::{Error, Model, ReadAt, ReadError, query::Query};
use safetensors_quant::{Matrix, QuantReader};

/// The number of values in a row of each matrix.
const COLUMNS: usize = 96;

/// The number of values that share a scale in the matrix of 4-bit integers.
const GROUP: u64 = 32;

/// The weights, the scales, and the zero points or the global scale of each matrix; no tensor is named "".
const MATRICES: [[&str; 3]; 7] = [
    ["channel", "channel.scale", ""],
    ["tensor", "tensor.scale", "tensor.zero_point"],
    ["group", "group.scale", "group.zero_point"],
    ["mx", "mx.scale", ""],
    ["nv", "nv.scale", "nv.scale_2"],
    ["nv.packed", "nv.packed.scale", "nv.packed.global_scale"],
    ["fp8", "fp8.scale", ""],
];

/// The vector, as floats and as integers.
struct Inputs {
    floats: [f32; COLUMNS],
    integers: [i8; COLUMNS],
}

/// Multiplies the matrices in this storage, and reports the bits of all products.
///
/// # Errors
/// Errors of the storage or the model. Events reported before the error remain valid.
///
/// *Memory*: a window of 64 bytes, two vectors, and a row as floats, all on the stack.
#[inline(never)] // its stack is free again when it returns
pub fn multiply<S: ReadAt>(storage: S, sink: &mut impl Sink) -> Result<(), Failure<S::Error>> {
    try_multiply(storage, sink).map_err(|error| Failure::of_read(error, 0))
}

fn try_multiply<S: ReadAt>(mut storage: S, sink: &mut impl Sink) -> Result<(), ReadError<S::Error>> {
    let (mut window, mut queries) = ([0; 64], ["input", "input.i8"].map(Query::required));
    let mut model = Model::open_with(&mut storage, &mut queries, &mut window)?;
    let [floats, integers] = &queries;
    let mut inputs = Inputs { floats: [0.0; COLUMNS], integers: [0; COLUMNS] };
    model.reader(floats)?.values().read_exact(&mut inputs.floats)?;
    model.reader(integers)?.values().read_exact(&mut inputs.integers)?;
    for names in MATRICES {
        let mut queries = names.map(Query::optional);
        let mut model = Model::open_with(&mut storage, &mut queries, &mut window)?;
        let [name, ..] = names;
        report(&mut model, name, &matrix(name, &queries)?, &inputs, sink)?;
    }
    Ok(())
}

/// Returns the matrix of this name.
fn matrix(name: &str, [weights, scales, third]: &[Query<'_>; 3]) -> Result<Matrix, Error> {
    match name {
        "group" => Matrix::q4(weights, scales, third.info(), GROUP),
        "mx" => Matrix::mxfp4(weights, scales),
        "nv" => Matrix::nvfp4(weights, scales, third),
        "nv.packed" => Matrix::nvfp4_packed(weights, scales, third),
        "fp8" => Matrix::fp8(weights, scales),
        _ => Matrix::q8(weights, scales, third.info()),
    }
}

fn report<S: ReadAt>(
    model: &mut Model<S>,
    matrix: &str,
    tensors: &Matrix,
    inputs: &Inputs,
    sink: &mut impl Sink,
) -> Result<(), ReadError<S::Error>> {
    let (mut values, mut weights) = ([0.0; COLUMNS], [0; COLUMNS]);
    let mut rows = QuantReader::new(model, tensors)?;
    for row in 0..rows.rows() {
        rows.read_row(row, &mut values)?;
        let mut of_values = 0.0f32;
        for (value, input) in values.iter().zip(&inputs.floats) {
            of_values += value * input;
        }
        let of_integers = rows.dot(row, &inputs.integers, &mut weights)?.to_bits();
        sink.event(&Event::Product { matrix, row, of_values: of_values.to_bits(), of_integers });
    }
    Ok(())
}
