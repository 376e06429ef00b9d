//! Any bytes as a model of ONNX, beside which there is one file: it is rejected, or every tensor has as many
//! bytes as its shape says.
#![no_main]

mod common;

use common::{check, file_of, read_all};
use libfuzzer_sys::fuzz_target;
use safetensors_convert::onnx::Onnx;
use std::io::ErrorKind;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let opened = Onnx::open(Path::new("m.onnx"), |path| match path.to_str() {
        Some("m.onnx") => Ok(file_of(bytes)),
        Some("w.bin") => Ok(file_of(&[7; 1000])),
        _ => Err(ErrorKind::InvalidData.into()),
    });
    opened.map_or_else(|error| check(&error), |model| drop(read_all(&model)));
});
