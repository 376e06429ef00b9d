//! Any bytes as a GGUF file: all elements of accepted files are read in both forms; with raw tensors the file
//! is written, and read back with the same tensors and metadata.
#![no_main]

mod common;

use common::{file_of, read_all};
use libfuzzer_sys::fuzz_target;
use safetensors_convert::TensorSource;
use safetensors_convert::gguf::{Gguf, Options, Plan};

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
    let elements = read_all(&source);
    Some((source, elements))
}
