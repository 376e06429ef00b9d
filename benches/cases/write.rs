//! Writes files to memory. The floor is a copy of their bytes.

use std::hint::black_box;

use embedded_safetensors::{
    Dtype,
    write::{FileSpec, TensorSpec, Writer},
};
use safetensors_0_8::tensor::{Dtype as ReferenceDtype, TensorView, serialize};

use super::headers::{Header, Model};
use super::{Amount, Bench, Case, contender, ours, reference};

/// The bytes of each tensor in a file of many.
const SMALL: usize = 64;

pub fn measure(bench: &mut Bench) {
    for header in [Header::Canonical, Header::Diverse] {
        for tensors in [1, 12, 100, 1000, 10_000, 100_000] {
            let what = format!("write {tensors} small tensors, {header} names");
            if bench.wants(&what) {
                measure_many(bench, what, &Model::new(header, tensors));
            }
        }
    }
}

fn measure_many(bench: &mut Bench, what: String, model: &Model) {
    let (data, shape) = ([7; SMALL], [SMALL as u64 / 4]);
    let names = model.names.iter();
    let tensors: Vec<_> = names.clone().map(|name| TensorSpec::new(name, Dtype::F32, &shape)).collect();
    let file = by_reference(model, &data);
    let (mut order, mut ours_file, mut copied) =
        (vec![0; tensors.len()], vec![0; file.len()], vec![0; file.len()]);
    write_many(&tensors, &mut order, &data, &mut ours_file);
    assert!(ours_file == file, "the files differ");
    let contenders = vec![
        ours(|| write_many(black_box(&tensors), &mut order, &data, &mut ours_file)),
        reference(|| by_reference(black_box(model), &data)),
        contender("copy", || black_box(&mut copied[..]).copy_from_slice(black_box(&file))),
    ];
    bench.measure(Case { what, amount: Amount::Tensors(tensors.len()) }, contenders);
}

fn by_reference(model: &Model, data: &[u8]) -> Vec<u8> {
    let view = || TensorView::new(ReferenceDtype::F32, vec![SMALL / 4], data).expect("fits");
    let tensors = model.names.iter().map(|name| (name, view()));
    serialize(tensors, None).expect("valid spec")
}

fn write_many(tensors: &[TensorSpec<'_>], order: &mut [u32], data: &[u8], file: &mut [u8]) {
    let plan = FileSpec::new(tensors).plan_sorted(order).expect("valid spec");
    let mut writer = Writer::new(file, plan, &mut [0; 4096]).expect("enough space");
    for _ in tensors {
        writer.write_bytes(data).expect("enough space");
    }
    black_box(writer.finish().expect("complete"));
}
