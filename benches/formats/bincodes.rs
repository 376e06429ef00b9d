//! bincode 2, with its own traits.

use bincode::config::standard;
use bytemuck::{cast_slice, cast_slice_mut};

use crate::row::{Kind, Row};
use crate::shapes::{BYTES, Bytes, NUMBERS, Numbers, OwnNumbers};

pub fn rows(features: &'static [f32]) -> Vec<Row> {
    let numbers = |file: &[u8], values: &mut Vec<f32>| {
        let (read, _): (OwnNumbers, usize) = bincode::decode_from_slice(file, standard()).expect("bincode");
        *values = read.features;
    };
    let bytes = |file: &[u8], values: &mut Vec<f32>| {
        let (read, _): (Bytes<'_>, usize) =
            bincode::borrow_decode_from_slice(file, standard()).expect("bincode");
        cast_slice_mut(values).copy_from_slice(read.features);
    };
    let encode_bytes = move |file: &mut [u8]| encode(file, Bytes { features: cast_slice(features) });
    let encode = move |file: &mut [u8]| encode(file, Numbers { features });
    vec![
        Row::memory(Kind::Other, ["bincode, numbers", NUMBERS], encode, numbers),
        Row::memory(Kind::Other, ["bincode, bytes", BYTES], encode_bytes, bytes),
    ]
}

fn encode(file: &mut [u8], features: impl bincode::Encode) -> usize {
    bincode::encode_into_slice(features, file, standard()).expect("enough space")
}
