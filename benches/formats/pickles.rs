//! Python's pickle, protocol 3, with serde-pickle: a dictionary with a list of floats, which pickle stores
//! in 64 bits, or with bytes.

use std::io::Cursor;

use bytemuck::{cast_slice, cast_slice_mut};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_pickle::{DeOptions, SerOptions};

use crate::row::{Kind, Row, written};
use crate::shapes::{Bytes, NUMBERS, Numbers, OWN_BYTES, OwnBytes, OwnNumbers};

pub fn rows(features: &'static [f32]) -> Vec<Row> {
    let numbers = |file: &[u8], values: &mut Vec<f32>| *values = decode::<OwnNumbers>(file).features;
    let bytes = |file: &[u8], values: &mut Vec<f32>| {
        cast_slice_mut(values).copy_from_slice(&decode::<OwnBytes>(file).features);
    };
    let encode_bytes = move |file: &mut [u8]| encode(file, &Bytes { features: cast_slice(features) });
    let encode = move |file: &mut [u8]| encode(file, &Numbers { features });
    vec![
        Row::memory(Kind::Other, ["pickle (serde-pickle), numbers", NUMBERS], encode, numbers),
        Row::memory(Kind::Other, ["pickle (serde-pickle), bytes", OWN_BYTES], encode_bytes, bytes),
    ]
}

fn encode(file: &mut [u8], features: &impl Serialize) -> usize {
    let mut file = Cursor::new(file);
    serde_pickle::to_writer(&mut file, features, SerOptions::new()).expect("enough space");
    written(&file)
}

fn decode<T: DeserializeOwned>(file: &[u8]) -> T {
    serde_pickle::from_slice(file, DeOptions::new()).expect("pickle")
}
