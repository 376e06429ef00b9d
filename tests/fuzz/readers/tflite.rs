//! Any bytes as a model of TFLite: it is rejected, or every tensor has as many bytes as its shape says.
#![no_main]

mod common;

use common::{check, file_of, read_all};
use libfuzzer_sys::fuzz_target;
use safetensors_convert::tflite::Tflite;

fuzz_target!(|bytes: &[u8]| {
    Tflite::open(file_of(bytes)).map_or_else(|error| check(&error), |model| drop(read_all(&model)));
});
