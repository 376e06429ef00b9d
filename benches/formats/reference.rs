//! The reference.

use std::fs;
use std::path::Path;

use bytemuck::cast_slice_mut;
use safetensors_0_8::serialize_to_file;

use crate::row::{Kind, Row, Section};
use crate::vector::NAME;
use crate::vector_by_reference::{find, tensor, write};

pub fn rows(values: &'static [f32]) -> Vec<Row> {
    let encode = move |file: &mut [u8]| {
        let bytes = write(values);
        file[..bytes.len()].copy_from_slice(&bytes);
        bytes.len()
    };
    let save = move |path: &Path| {
        serialize_to_file([(NAME, tensor(values))], None, path).expect("enough space");
    };
    let words = ["safetensors 0.8", "copied"];
    vec![
        Row::memory(Kind::Reference, words, encode, |file, values| decode(file, values)),
        Row::in_place(Kind::Reference, ["safetensors 0.8", "in place"], encode, find),
        Row::file(Section::File, Kind::Reference, words, save, |path, values| load(path, values)),
    ]
}

fn decode(file: &[u8], values: &mut [f32]) {
    cast_slice_mut(values).copy_from_slice(find(file));
}

fn load(path: &Path, values: &mut [f32]) {
    decode(&fs::read(path).expect("found"), values);
}
