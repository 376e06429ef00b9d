//! A vector written to memory as a file, description and header included, against a plain copy of its bytes.

use std::hint::black_box;

use embedded_safetensors::{Dtype, FileSpec, TensorSpec, Writer};

const VALUES: usize = 10_000;

/// How much longer than copying it that may take.
const MOST: f64 = 1.2;

const CALLS: usize = 1000;

pub fn measure() {
    let values: Vec<f32> = (0..VALUES).map(|index| index as f32).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let (mut copied, mut file) = (vec![0; bytes.len()], vec![0; bytes.len() + 200]);
    let copy = || black_box(&mut copied[..]).copy_from_slice(black_box(&bytes));
    let write = || write(black_box(&values), black_box(&mut file[..]));
    crate::report("10000 f32 written to memory", crate::best_times(CALLS, write, copy), Some(MOST));
}

fn write(values: &[f32], file: &mut [u8]) {
    let shape = [values.len() as u64];
    let tensors = [TensorSpec::new(black_box("features"), Dtype::F32, &shape)];
    let plan = FileSpec::new(&tensors).in_order().expect("it can be written");
    let mut writer = Writer::begin(file, plan, &mut [0; 128]).expect("there is room");
    writer.write_values(values).expect("there is room");
    black_box(writer.finish().expect("it is complete"));
}
