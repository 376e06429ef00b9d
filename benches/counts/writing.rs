//! Counts writing headers and files.

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
    let view = View::parse(&file).expect("valid file");
    let names: Vec<String> = view.tensors().flatten().map(|tensor| tensor.name().to_string()).collect();
    let tensors: Vec<_> = view.tensors().flatten().collect();
    let described = tensors.iter().zip(&names);
    let tensors: Vec<TensorSpec<'_>> =
        described.map(|(tensor, name)| TensorSpec::new(name, tensor.dtype(), tensor.dims())).collect();
    let mut order = vec![0; TENSORS];
    path(&format!("sort {TENSORS} tensors, {name}"), || {
        black_box(FileSpec::new(black_box(&tensors)).plan_sorted(&mut order).expect("valid spec"));
    });
    let plan = FileSpec::new(&tensors).plan_sorted(&mut order).expect("valid spec");
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

/// Writes into memory, tensor by tensor.
fn write_file(plan: FilePlan<'_>) {
    let mut file = vec![0; usize::try_from(plan.file_len()).expect("small")];
    let mut writer = Writer::new(&mut file[..], plan, &mut [0; 4096]).expect("enough space");
    let zeros = [0; 1 << 17];
    while let Some(tensor) = writer.next_tensor() {
        let bytes = usize::try_from(tensor.remaining).expect("small");
        writer.write_bytes(black_box(&zeros[..bytes])).expect("enough space");
    }
    black_box(writer.finish().expect("complete"));
}

/// Does all that a program does to write one tensor: description, header and data.
fn write_vector() {
    let values = vector::values();
    let (mut file, mut len) = (vec![0; 4 * VALUES + 200], 0);
    path("write 10000 f32, description included", || {
        len = vector::write(black_box(&mut file), black_box(&values));
    });
    let mut read = vec![0.0; VALUES];
    vector::read(&file[..len], &mut read);
    assert!(read == values, "other values were read");
}
