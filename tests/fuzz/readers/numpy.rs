//! Any bytes as an array or an archive of numpy: it is rejected, or every tensor has as many bytes as its
//! shape says, and arrays that are written from them are read as the same.
//!
//! The first byte of an input selects what the others are: an array; an archive; the only entry of an
//! archive, stored or deflated; or the header of an array after its length, and the elements.
#![no_main]

mod common;

use common::{check, file_of, read_all, read_first};
use libfuzzer_sys::fuzz_target;
use safetensors_convert::numpy::{Arrays, Header};
use safetensors_convert::zip::Archive;
use safetensors_convert::{Tensor, TensorSource};
use std::io;

/// The number of tensors that are read, and the number of bytes of each: deflated ones can be far larger than
/// the file.
const TENSORS: usize = 50;
const BYTES: u64 = 1 << 20;

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    let opened = match kind % 5 {
        0 => Arrays::open_one(file_of(rest), "a"),
        1 => Arrays::open_many(file_of(rest)),
        2 => Arrays::open_many(file_of(&archive(rest, false))),
        3 => Arrays::open_many(file_of(&archive(rest, true))),
        _ => Arrays::open_one(file_of(&array(rest)), "a"),
    };
    match opened {
        Ok(arrays) => {
            let read = arrays.tensors().iter().zip(read_first(&arrays, TENSORS, BYTES));
            let whole = read.filter(|(tensor, _)| tensor.byte_len() <= BYTES);
            whole.for_each(|(tensor, bytes)| bytes.iter().for_each(|bytes| come_back(tensor, bytes)));
        }
        Err(error) => check(&error),
    }
});

/// Writes an array with these elements, and reads it again.
fn come_back(tensor: &Tensor, bytes: &[u8]) {
    let Some(header) = Header::spelled(tensor.dtype, &tensor.dims) else { return };
    let written = file_of(&[&header, bytes].concat());
    let arrays = Arrays::open_one(written, &tensor.name).expect("an array that has been written");
    assert_eq!(arrays.tensors(), std::slice::from_ref(tensor));
    assert_eq!(read_all(&arrays), [bytes]);
}

fn archive(array: &[u8], is_deflated: bool) -> Vec<u8> {
    let mut archive = Archive::new(Vec::new(), is_deflated);
    let added = archive.add::<io::Error>("x/a.npy", |out| out.write_all(array));
    added.expect("memory can be written");
    archive.finish().expect("memory can be written")
}

/// An array of the second version, whose header has this length: the first byte.
fn array(rest: &[u8]) -> Vec<u8> {
    let (&len, text) = rest.split_first().unwrap_or((&0, &[]));
    let (header, elements) = text.split_at(usize::from(len).min(text.len()));
    let len = (header.len() as u32).to_le_bytes();
    [b"\x93NUMPY\x02\0", &len[..], header, elements].concat()
}
