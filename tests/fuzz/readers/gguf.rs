//! Any bytes as a GGUF file: all elements of accepted files are read in both forms; with raw tensors the file
//! is written, and read back with the same tensors and metadata.
#![no_main]

use libfuzzer_sys::fuzz_target;
use safetensors_convert::gguf::{Gguf, Options, Plan};
use safetensors_convert::{Tensor, TensorSource};
use std::fs::File;
use std::io::{Read, Seek, Write};

fuzz_target!(|bytes: &[u8]| {
    read(bytes, &Options { keep_blocks: false, without_metadata: true });
    let options = Options { keep_blocks: true, without_metadata: false };
    if let Some((raw, elements)) = read(bytes, &options) {
        let plan = Plan::new(raw.tensors(), raw.metadata()).expect("all of it has been read");
        let len = plan.file_len();
        let written = plan.write(&raw, Vec::new()).expect("a vector takes all");
        assert_eq!(written.len() as u64, len);
        let (again, other) = read(&written, &options).expect("a file that has been written");
        assert_eq!(again.tensors(), raw.tensors());
        assert_eq!(again.metadata(), raw.metadata());
        assert_eq!(elements, other);
    }
});

/// Reads a file, and all its elements.
fn read(bytes: &[u8], options: &Options) -> Option<(Gguf, Vec<Vec<u8>>)> {
    let source = Gguf::open(file_of(bytes), options).ok()?;
    let elements = source.tensors().iter().enumerate().map(|(index, tensor)| {
        let mut elements = Vec::new();
        let read = source.read(index).and_then(|mut reader| reader.read_to_end(&mut elements));
        read.expect("the file has them");
        assert_eq!(Some(elements.len() as u64), len(tensor));
        elements
    });
    let elements = elements.collect();
    Some((source, elements))
}

fn len(tensor: &Tensor) -> Option<u64> {
    let product = tensor.dims.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim))?;
    Some(product * u64::from(tensor.dtype.bits()) / 8)
}

/// Returns a file with these bytes, which has no name.
fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).and_then(|()| file.rewind()).expect("enough space");
    file
}
