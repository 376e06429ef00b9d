//! The reference.

use std::fs;
use std::path::Path;

use bytemuck::{cast_slice, cast_slice_mut};
use safetensors_0_8::tensor::TensorView;
use safetensors_0_8::{Dtype, SafeTensors};

use crate::row::{Kind, Row, Section, VALUES};

const NAME: &str = "features";

pub fn rows(values: &'static [f32]) -> Vec<Row> {
    let encode = move |file: &mut [u8]| {
        let bytes = safetensors_0_8::serialize([(NAME, tensor(values))], None).expect("it can be written");
        file[..bytes.len()].copy_from_slice(&bytes);
        bytes.len()
    };
    let save = move |path: &Path| {
        safetensors_0_8::serialize_to_file([(NAME, tensor(values))], None, path).expect("there is room");
    };
    let words = ["safetensors 0.8", "copied"];
    vec![
        Row::memory(Kind::Reference, words, encode, |file, values| decode(file, values)),
        Row::in_place(Kind::Reference, ["safetensors 0.8", "where they lie"], encode, find),
        Row::file(Section::File, Kind::Reference, words, save, |path, values| load(path, values)),
    ]
}

fn tensor(values: &[f32]) -> TensorView<'_> {
    TensorView::new(Dtype::F32, vec![VALUES], cast_slice(values)).expect("it is so long")
}

fn find(file: &[u8]) -> &[u8] {
    let model = SafeTensors::deserialize(file).expect("it is sound");
    model.tensor(NAME).expect("it is there").data()
}

fn decode(file: &[u8], values: &mut [f32]) {
    cast_slice_mut(values).copy_from_slice(find(file));
}

fn load(path: &Path, values: &mut [f32]) {
    decode(&fs::read(path).expect("it is there"), values);
}
