//! Writes the state of a training, which Python loads with `safestructures.load_file`.
//!
//! `cargo run --example training -- state.safetensors`

use embedded_safestructures::{Tree, TreeFrame, metadata, write};
use embedded_safetensors::write::{FileSpec, TensorSpec, Writer};
use embedded_safetensors::{Dtype, WriteError};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: training FILE")?;
    let layers = [
        Tree::Dict(&[(Tree::Str("weight"), Tree::Tensor("0")), (Tree::Str("bias"), Tree::Tensor("1"))]),
        Tree::Dict(&[(Tree::Str("weight"), Tree::Tensor("2")), (Tree::Str("bias"), Tree::None)]),
    ];
    let root = Tree::Dict(&[
        (Tree::Str("epoch"), Tree::Int(7)),
        (Tree::Str("lr"), Tree::Float(0.015625)),
        (Tree::Str("note"), Tree::Str("läuft\n\"gut\"")),
        (Tree::Str("shuffle"), Tree::Bool(true)),
        (Tree::Str("layers"), Tree::List(&layers)),
        (
            Tree::Str("shape"),
            Tree::Tuple(&[Tree::Int(3), Tree::Int(4), Tree::Tuple(&[Tree::Int(2), Tree::Int(3)])]),
        ),
        (
            Tree::Str("labels"),
            Tree::Dict(&[(Tree::Int(0), Tree::Str("no")), (Tree::Int(1), Tree::Str("yes"))]),
        ),
        (Tree::Str("empty"), Tree::List(&[])),
    ]);
    let (mut frames, mut text) = ([TreeFrame::NONE; 3], [0; 2048]);
    let schema = write(&root, &mut frames, &mut text)?;
    std::fs::write(path, file(schema).map_err(|error| error.to_string())?)?;
    Ok(())
}

/// Returns the file with its three tensors.
fn file(schema: &str) -> Result<Vec<u8>, WriteError<core::convert::Infallible>> {
    let tensors = [
        TensorSpec::new("0", Dtype::F32, &[3, 4]),
        TensorSpec::new("1", Dtype::F32, &[3]),
        TensorSpec::new("2", Dtype::F32, &[2, 3]),
    ];
    let metadata = metadata(schema);
    let plan = FileSpec::new(&tensors).with_metadata(&metadata).plan()?;
    let (mut file, mut page) = (vec![0; usize::try_from(plan.file_len()).unwrap_or(0)], [0; 64]);
    let mut writer = Writer::record(&mut file[..], plan, &mut page)?;
    writer.write::<f32>(&[0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0, 1.125, 1.25, 1.375])?;
    writer.write::<f32>(&[0.5, -0.25, 2.0])?;
    writer.write::<f32>(&[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])?;
    writer.finish()?;
    Ok(file)
}
