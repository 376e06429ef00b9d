//! The same vector, written and read by the reference.

use bytemuck::cast_slice;
use safetensors_0_8::tensor::{TensorView, serialize};
use safetensors_0_8::{Dtype, SafeTensors};

use crate::vector::{NAME, VALUES};

pub fn tensor(values: &[f32]) -> TensorView<'_> {
    TensorView::new(Dtype::F32, vec![VALUES], cast_slice(values)).expect("it is so long")
}

pub fn write(values: &[f32]) -> Vec<u8> {
    serialize([(NAME, tensor(values))], None).expect("it can be written")
}

/// Where the bytes of the values lie.
pub fn find(file: &[u8]) -> &[u8] {
    let model = SafeTensors::deserialize(file).expect("it is sound");
    model.tensor(std::hint::black_box(NAME)).expect("it is there").data()
}
