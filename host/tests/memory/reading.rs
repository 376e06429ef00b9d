//! Programs that read a complete model through an API of the library, and check every byte.

use super::files::byte;
use embedded_safetensors::{FileModel, Model, ReadAt, TensorReader, header::Entry};
use std::fs::File;
use std::io;

/// Reads so many bytes of tensors.
pub fn all(api: &str, path: &str, bytes: &str) {
    let streamed = match api {
        "Model" => model(path),
        "FileModel" => {
            let model = FileModel::open(path).expect("valid file");
            model.tensors().map(|tensor| stream(tensor.name(), tensor.reader())).sum()
        }
        _ => 0,
    };
    assert_eq!(streamed.to_string(), bytes, "not all bytes came");
}

/// Reads each tensor as it appears in the header, in one pass: one model reads the header, another one the
/// data.
fn model(path: &str) -> u64 {
    let (file, mut buffer) = (File::open(path).expect("the file"), [0; 4096]);
    let mut open = || Model::open(&file, &mut buffer).expect("valid file");
    let (mut header, mut data) = (open(), open());
    let mut streamed = 0;
    let read = |entry: &Entry<'_>| {
        streamed += stream(entry.name(), data.reader(&entry.info).expect("same file"));
    };
    header.for_each(&mut [0; 64], &mut buffer, read).expect("valid file");
    streamed
}

fn stream<S: ReadAt<Error = io::Error>>(name: &str, mut reader: TensorReader<'_, S>) -> u64 {
    let (mut streamed, mut buffer) = (0, [0; 4096]);
    let number = name.strip_prefix('t').map(|number| number.parse().expect("one of the many"));
    while let Some(chunk) = reader.next_chunk(&mut buffer).expect("the disk works") {
        // The large tensor is a hole.
        let is_due = number.map_or([0; 4096].starts_with(chunk), |number| chunk == [byte(number)]);
        assert!(is_due, "{name} has wrong bytes");
        streamed += chunk.len() as u64;
    }
    streamed
}
