//! numpy's format, with npyz: only the array, without a name.

use std::io::{Cursor, Write};

use bytemuck::{cast_slice, cast_slice_mut};
use npyz::{NpyFile, NpyHeader, WriteOptions, WriterBuilder};

use crate::row::{Kind, Row, written};
use crate::shapes::{BYTES, NUMBERS};
use crate::vector::VALUES;

const SHAPE: [u64; 1] = [VALUES as u64];

pub fn rows(features: &'static [f32]) -> Vec<Row> {
    let numbers = |file: &[u8], values: &mut Vec<f32>| {
        *values = NpyFile::new(file).and_then(NpyFile::into_vec).expect("npy array");
    };
    let bytes = |file: &[u8], values: &mut Vec<f32>| cast_slice_mut(values).copy_from_slice(find(file));
    let encode_numbers = move |file: &mut [u8]| encode(file, features);
    let encode_bytes = move |file: &mut [u8]| encode_bytes(file, cast_slice(features));
    vec![
        Row::memory(Kind::Other, ["npy (npyz), numbers", NUMBERS], encode_numbers, numbers),
        Row::memory(Kind::Other, ["npy (npyz), bytes", BYTES], encode_bytes, bytes),
        Row::in_place(Kind::Other, ["npy (npyz)", "in place"], encode_bytes, find),
    ]
}

fn encode(file: &mut [u8], features: &[f32]) -> usize {
    let mut file = Cursor::new(file);
    let options = WriteOptions::new().default_dtype().shape(&SHAPE).writer(&mut file);
    let mut array = options.begin_nd().expect("enough space");
    array.extend(features.iter().copied()).and_then(|()| array.finish()).expect("enough space");
    written(&file)
}

/// Writes npyz's header, and then the bytes of all values at once.
fn encode_bytes(file: &mut [u8], bytes: &[u8]) -> usize {
    let mut file = Cursor::new(file);
    let options = WriteOptions::<f32>::new().default_dtype().shape(&SHAPE).writer(&mut file);
    options.write_header_only().and_then(|file| file.write_all(bytes)).expect("enough space");
    written(&file)
}

/// Returns the bytes after the header.
fn find(mut file: &[u8]) -> &[u8] {
    let header = NpyHeader::from_reader(&mut file).expect("npy array");
    assert!(header.shape() == SHAPE && header.dtype().descr() == "'<f4'", "unexpected array");
    file
}
