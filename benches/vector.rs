//! Writes and reads the vector of the format comparisons with this library. The same code is limited, shown
//! beside other formats, and counted.

use std::fmt::Debug;
use std::hint::black_box;

use embedded_io::Write;
use embedded_safetensors::{
    Dtype, View,
    write::{FilePlan, FileSpec, TensorSpec, Writer},
};
use support::random::Random;

pub const VALUES: usize = 10_000;
pub const NAME: &str = "features";

const SHAPE: [u64; 1] = [VALUES as u64];
const TENSORS: [TensorSpec<'_>; 1] = [TensorSpec::new(NAME, Dtype::F32, &SHAPE)];

/// Returns values between -1 and 1, like features, none of which is short in decimal.
pub fn values() -> Vec<f32> {
    let mut random = Random::new(1);
    let mut value = || (random.number() >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
    (0..VALUES).map(|_| value()).collect()
}

pub fn spec() -> FileSpec<'static> {
    FileSpec::new(black_box(&TENSORS))
}

/// Writes the file to the front of the buffer, and returns its length.
pub fn write(file: &mut [u8], values: &[f32]) -> usize {
    let plan = spec().plan().expect("valid spec");
    write_to(file, plan, values);
    usize::try_from(plan.file_len()).expect("fits memory")
}

pub fn write_to(sink: impl Write<Error: Debug>, plan: FilePlan<'_>, values: &[f32]) {
    let mut writer = Writer::new(sink, plan, &mut [0; 128]).expect("enough space");
    writer.write(values).expect("enough space");
    writer.finish().expect("complete");
}

/// Reads a file in memory, and validates its header.
pub fn read(file: &[u8], values: &mut [f32]) {
    let model = View::parse(file).expect("valid file");
    let tensor = model.tensor(black_box(NAME)).expect("found");
    values.copy_from_slice(tensor.as_f32().expect("aligned f32 values"));
}
