//! A nested structure that the Python package safestructures has saved.

use crate::failure::Failure;
use crate::report::Text;
use core::fmt::{Arguments, Write};
use embedded_safestructures::{Event, Frame, Key, LoadError, Structure, Value};
use embedded_safetensors::{Model, ReadAt, ReadError, TensorInfo, error::Class};

/// The longest schema in bytes.
const SCHEMA: usize = 2048;

/// The most levels of containers.
const LEVELS: usize = 4;

/// Prints the structure in this storage: a line for each value, with the sum of each tensor, and then a bias
/// times the learning rate. Returns the exit code of the program, which is not 0 if the
/// structure is wrong: its error is printed.
///
/// # Errors
/// Errors of the storage or the file. Lines printed before the error remain valid.
///
/// *Memory*: a schema of 2,048 bytes, four frames of 12 bytes, and a window of 64 bytes, all on the stack.
#[inline(never)] // its stack is free again when it returns
pub fn show_structure<S: ReadAt>(storage: S, sink: &mut Text<impl Write>) -> Result<u8, Failure<S::Error>> {
    let failed = |error| Failure::of_read(error, 0);
    let (mut text, mut window) = ([0; SCHEMA], [0; 64]);
    let mut model = Model::open(storage, &mut window).map_err(failed)?;
    let structure = match Structure::of_model(&mut model, &mut text, &mut window) {
        Ok(Some(structure)) => structure,
        Ok(None) => {
            line(sink, format_args!("the model has no structure of safestructures"));
            return Ok(0);
        }
        Err(LoadError::Read(error)) => return Err(failed(error)),
        Err(LoadError::Structure(error)) => return Ok(report(&error, error.kind.class(), sink)),
    };
    let shown = walk(structure, &mut model, &mut window, sink);
    match shown.and_then(|()| step(structure, &mut model, &mut window, sink)) {
        Ok(()) => Ok(0),
        Err(LoadError::Read(error)) => Err(failed(error)),
        // With its path, and the name that it is about.
        Err(LoadError::Structure(error)) => Ok(report(&structure.explain(error), error.kind.class(), sink)),
    }
}

fn line(sink: &mut Text<impl Write>, text: Arguments<'_>) {
    // An error cannot be reported if the output itself fails.
    let _ = writeln!(sink.0, "{text}");
}

/// Prints the error of a structure, and returns the exit code.
fn report(sentence: &impl core::fmt::Display, class: Class, sink: &mut Text<impl Write>) -> u8 {
    line(sink, format_args!("{sentence}"));
    if class == Class::Limit { 4 } else { 3 }
}

fn walk<S: ReadAt>(
    structure: Structure<'_>,
    model: &mut Model<S>,
    window: &mut [u8],
    sink: &mut Text<impl Write>,
) -> Result<(), LoadError<S::Error>> {
    let mut frames = [Frame::NONE; LEVELS];
    let mut walk = structure.walk(&mut frames);
    while let Some(event) = walk.next()? {
        let Event::Value { key, node, value, depth } = event else { continue };
        let (indent, separator) = (2 * depth, if let Key::Root = key { "" } else { ": " });
        match value {
            Value::Tensor(_) => {
                let tensor = node.find(model, window)?;
                let (dtype, shape, sum) = (tensor.dtype(), *tensor.shape(), sum(model, &tensor)?.to_bits());
                let form = format_args!("{dtype} {shape:?}, sum {sum:08x}");
                line(sink, format_args!("value: {:indent$}{key}: {value}, {form}", ""));
            }
            _ => line(sink, format_args!("value: {:indent$}{key}{separator}{value}", "")),
        }
    }
    Ok(())
}

/// Adds the values of a tensor, eight at a time.
fn sum<S: ReadAt>(model: &mut Model<S>, tensor: &TensorInfo) -> Result<f32, ReadError<S::Error>> {
    let (mut values, mut sum) = ([0.0_f32; 8], 0.0);
    let mut reader = model.reader(tensor)?.values();
    loop {
        match reader.read(&mut values)? {
            [] => return Ok(sum),
            read => sum += read.iter().sum::<f32>(),
        }
    }
}

/// Multiplies a bias by the learning rate, each found by its path.
fn step<S: ReadAt>(
    structure: Structure<'_>,
    model: &mut Model<S>,
    window: &mut [u8],
    sink: &mut Text<impl Write>,
) -> Result<(), LoadError<S::Error>> {
    let root = structure.root();
    let rate: f32 = root.get("lr")?.read()?;
    let bias = root.get("layers")?.item(0)?.get("bias")?.find(model, window)?;
    let mut values = [0.0_f32; 3];
    model.reader(&bias)?.values().read_exact(&mut values)?;
    let [a, b, c] = values.map(|value| (value * rate).to_bits());
    line(sink, format_args!("value: the learning rate times a bias is {a:08x} {b:08x} {c:08x}"));
    Ok(())
}
