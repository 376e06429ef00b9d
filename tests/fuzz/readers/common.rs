//! What the targets share.

use safetensors_convert::TensorSource;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};

/// Returns a file with these bytes, which has no name.
#[allow(dead_code)]
pub fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).and_then(|()| file.rewind()).expect("enough space");
    file
}

/// Errors are about the file, not about the system.
#[allow(dead_code)]
pub fn check(error: &io::Error) {
    let is_known = matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::QuotaExceeded);
    assert!(is_known, "{error:?}");
}

/// Reads the first bytes of the first tensors. One that cannot be read has an error about the file.
#[allow(dead_code)]
pub fn read_first(
    source: &dyn TensorSource,
    tensors: usize,
    bytes: u64,
) -> impl Iterator<Item = Option<Vec<u8>>> {
    source.tensors().iter().enumerate().take(tensors).map(move |(index, tensor)| {
        let mut first = Vec::new();
        let read = source.read(index).and_then(|reader| reader.take(bytes).read_to_end(&mut first));
        read.inspect_err(check).ok()?;
        assert_eq!(first.len() as u64, tensor.byte_len().min(bytes), "{tensor:?}");
        Some(first)
    })
}

/// Reads the elements of a file that was opened: nothing about them is left to be wrong.
#[allow(dead_code)]
pub fn read_all(source: &dyn TensorSource) -> Vec<Vec<u8>> {
    read_first(source, usize::MAX, u64::MAX).map(|read| read.expect("the file has them")).collect()
}
