//! MessagePack, with rmp-serde.

use std::io::Cursor;

use bytemuck::{cast_slice, cast_slice_mut};
use serde::Serialize;

use crate::row::{Kind, Row, written};
use crate::shapes::{BYTES, Bytes, NUMBERS, Numbers, OwnNumbers};

pub fn rows(features: &'static [f32]) -> Vec<Row> {
    let numbers = |file: &[u8], values: &mut Vec<f32>| {
        *values = rmp_serde::from_slice::<OwnNumbers>(file).expect("MessagePack").features;
    };
    let bytes = |file: &[u8], values: &mut Vec<f32>| {
        let read: Bytes<'_> = rmp_serde::from_slice(file).expect("MessagePack");
        cast_slice_mut(values).copy_from_slice(read.features);
    };
    let encode_bytes = move |file: &mut [u8]| encode(file, &Bytes { features: cast_slice(features) });
    let encode = move |file: &mut [u8]| encode(file, &Numbers { features });
    vec![
        Row::memory(Kind::Other, ["MessagePack (rmp-serde), numbers", NUMBERS], encode, numbers),
        Row::memory(Kind::Other, ["MessagePack (rmp-serde), bytes", BYTES], encode_bytes, bytes),
    ]
}

fn encode(file: &mut [u8], features: &impl Serialize) -> usize {
    let mut file = Cursor::new(file);
    rmp_serde::encode::write_named(&mut file, features).expect("enough space");
    written(&file)
}
