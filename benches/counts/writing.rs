//! Headers and files made.

use crate::headers::{Spelling, TENSORS};
use crate::path;
use crate::vector::{self, VALUES};
use embedded_safetensors::{
    View,
    tensor::Located,
    write::{FilePlan, FileSpec, TensorSpec, Writer},
};
use std::hint::black_box;

pub fn take() {
    for spelling in [Spelling::Canonical, Spelling::Diverse] {
        write(spelling);
    }
    write_vector();
}

fn write(spelling: Spelling) {
    let (name, file) = (spelling.name(), spelling.file(TENSORS));
    let view = View::parse(&file).expect("it is sound");
    let names: Vec<String> = view.tensors().flatten().map(|tensor| tensor.name().to_string()).collect();
    let tensors: Vec<_> = view.tensors().flatten().collect();
    let described = tensors.iter().zip(&names);
    let tensors: Vec<TensorSpec<'_>> =
        described.map(|(tensor, name)| TensorSpec::new(name, tensor.dtype(), tensor.dims())).collect();
    let mut order = vec![0; TENSORS];
    path(&format!("sort {TENSORS} tensors, {name}"), || {
        black_box(FileSpec::new(black_box(&tensors)).plan_sorted(&mut order).expect("it can be written"));
    });
    let plan = FileSpec::new(&tensors).plan_sorted(&mut order).expect("it can be written");
    path(&format!("encode a header, {name}"), || encode(plan));
    path(&format!("write a file, {name}"), || write_file(plan));
}

fn encode(plan: FilePlan<'_>) {
    let (mut encoder, mut buffer) = (black_box(plan).encoder(), [0; 4096]);
    while !encoder.encode(&mut buffer).is_empty() {
        black_box(&buffer);
    }
    assert_eq!(encoder.remaining(), 0);
}

/// Into memory, tensor by tensor.
fn write_file(plan: FilePlan<'_>) {
    let mut file = vec![0; usize::try_from(plan.file_len()).expect("it is small")];
    let mut writer = Writer::new(&mut file[..], plan, &mut [0; 4096]).expect("there is room");
    let zeros = [0; 1 << 17];
    while let Some(due) = writer.next_tensor() {
        let bytes = usize::try_from(due.remaining).expect("it is small");
        writer.write_bytes(black_box(&zeros[..bytes])).expect("there is room");
    }
    black_box(writer.finish().expect("it is complete"));
}

/// As programs do it that write one tensor: description, header and data.
fn write_vector() {
    let values = vector::values();
    let (mut file, mut len) = (vec![0; 4 * VALUES + 200], 0);
    path("write 10000 f32, description included", || {
        len = vector::write(black_box(&mut file), black_box(&values));
    });
    let mut read = vec![0.0; VALUES];
    vector::read(&file[..len], &mut read);
    assert!(read == values, "others were written");
}
