//! Protocol Buffers, with prost: `message Features { repeated float features = 1; }`, which is packed, and
//! the same with `bytes`.

use bytemuck::{cast_slice, cast_slice_mut};
use prost::Message;
use prost::bytes::Buf;

use crate::row::{Kind, Row};
use crate::shapes::{NUMBERS, OWN_BYTES};

#[derive(Message)]
struct Numbers {
    #[prost(float, repeated, tag = "1")]
    features: Vec<f32>,
}

#[derive(Message)]
struct Bytes {
    #[prost(bytes = "vec", tag = "1")]
    features: Vec<u8>,
}

pub fn rows(features: &'static [f32]) -> Vec<Row> {
    // prost's structures own their data. A program can keep its numbers in one; the one with bytes is
    // created to be written.
    let numbers = Numbers { features: features.to_vec() };
    let encode_numbers = move |file: &mut [u8]| encode(file, &numbers);
    let encode_bytes = move |file: &mut [u8]| {
        let features = cast_slice(features).to_vec();
        encode(file, &Bytes { features })
    };
    let decode_numbers = |file: &[u8], values: &mut Vec<f32>| *values = decode::<Numbers>(file).features;
    let decode_bytes = |file: &[u8], values: &mut Vec<f32>| {
        cast_slice_mut(values).copy_from_slice(&decode::<Bytes>(file).features);
    };
    vec![
        Row::memory(Kind::Other, ["protobuf (prost), numbers", NUMBERS], encode_numbers, decode_numbers),
        Row::memory(Kind::Other, ["protobuf (prost), bytes", OWN_BYTES], encode_bytes, decode_bytes),
    ]
}

fn encode(file: &mut [u8], features: &impl Message) -> usize {
    let len = file.len();
    let mut left = file;
    features.encode(&mut left).expect("enough space");
    len - left.len()
}

fn decode<T: Message + Default>(mut file: &[u8]) -> T {
    T::decode(&mut file).inspect(|_| debug_assert!(!file.has_remaining())).expect("valid message")
}
