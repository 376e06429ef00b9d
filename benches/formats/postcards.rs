//! postcard.

use bytemuck::{cast_slice, cast_slice_mut};
use serde::Serialize;

use crate::row::{Kind, Row};
use crate::shapes::{BYTES, Bytes, NUMBERS, Numbers, OwnNumbers};

pub fn rows(features: &'static [f32]) -> Vec<Row> {
    let numbers = |file: &[u8], values: &mut Vec<f32>| {
        *values = postcard::from_bytes::<OwnNumbers>(file).expect("postcard").features;
    };
    let bytes = |file: &[u8], values: &mut Vec<f32>| {
        let read: Bytes<'_> = postcard::from_bytes(file).expect("postcard");
        cast_slice_mut(values).copy_from_slice(read.features);
    };
    let encode_bytes = move |file: &mut [u8]| encode(file, &Bytes { features: cast_slice(features) });
    let encode = move |file: &mut [u8]| encode(file, &Numbers { features });
    vec![
        Row::memory(Kind::Other, ["postcard, numbers", NUMBERS], encode, numbers),
        Row::memory(Kind::Other, ["postcard, bytes", BYTES], encode_bytes, bytes),
    ]
}

fn encode(file: &mut [u8], features: &impl Serialize) -> usize {
    postcard::to_slice(features, file).expect("enough space").len()
}
