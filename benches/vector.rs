//! The vector that comparisons of formats are made with, written and read by this library: what is judged, what is shown beside other formats, and
//! what is counted are the same code.

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

/// Values between -1 and 1, as features are, none of which is short in decimal.
pub fn values() -> Vec<f32> {
    let mut random = Random::new(1);
    let mut value = || (random.number() >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
    (0..VALUES).map(|_| value()).collect()
}

pub fn spec() -> FileSpec<'static> {
    FileSpec::new(black_box(&TENSORS))
}

/// Makes the file in the front of this memory, and says how long it is.
pub fn write(file: &mut [u8], values: &[f32]) -> usize {
    let plan = spec().plan().expect("it can be written");
    write_to(file, plan, values);
    usize::try_from(plan.file_len()).expect("it is in memory")
}

pub fn write_to(sink: impl Write<Error: Debug>, plan: FilePlan<'_>, values: &[f32]) {
    let mut writer = Writer::new(sink, plan, &mut [0; 128]).expect("there is room");
    writer.write(values).expect("there is room");
    writer.finish().expect("it is complete");
}

/// From a file in memory, whose header is proven.
pub fn read(file: &[u8], values: &mut [f32]) {
    let model = View::parse(file).expect("it is sound");
    let tensor = model.tensor(black_box(NAME)).expect("it is there");
    values.copy_from_slice(tensor.as_f32().expect("it is of such values, and lies right"));
}
