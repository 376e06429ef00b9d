//! Describes a file in another order than that of the format, sorts it and writes it.
#![no_std]
#![no_main]

use core::hint::black_box;
use embedded_io::ErrorKind;
use embedded_safetensors::{
    Dtype, WriteError,
    write::{FileSpec, TensorSpec, Writer},
};
use measure::{Job, Wire};

const LEN: usize = 128;
const DIMS: &[u64] = &[4, LEN as u64 / 16];

/// The tensors of the file of the measurement, the last one first.
static SPECS: [TensorSpec<'static>; 10] = [
    spec("model.layers.9.mlp.up_proj.weight"),
    spec("model.layers.8.mlp.up_proj.weight"),
    spec("model.layers.7.mlp.up_proj.weight"),
    spec("model.layers.6.mlp.up_proj.weight"),
    spec("model.layers.5.mlp.up_proj.weight"),
    spec("model.layers.4.mlp.up_proj.weight"),
    spec("model.layers.3.mlp.up_proj.weight"),
    spec("model.layers.2.mlp.up_proj.weight"),
    spec("model.layers.1.mlp.up_proj.weight"),
    spec("model.layers.0.mlp.up_proj.weight"),
];

const fn spec(name: &'static str) -> TensorSpec<'static> {
    TensorSpec::new(name, Dtype::F32, DIMS)
}

measure::program!(|job| job.done = write(job).ok());

fn write(job: &Job) -> Result<u32, WriteError<ErrorKind>> {
    let mut order = [0; SPECS.len()];
    let plan = FileSpec::new(black_box(&SPECS)).plan_sorted(&mut order)?;
    let mut writer = Writer::new(Wire::new(job.file), plan, &mut [0; 64])?;
    while writer.next_tensor().is_some() {
        writer.write_bytes(&[0; LEN])?;
    }
    writer.finish()?;
    Ok(plan.file_len() as u32)
}
