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

/// Reads the elements of a file that was opened: nothing about them is left to be wrong.
#[allow(dead_code)]
pub fn read_all(source: &dyn TensorSource) -> Vec<Vec<u8>> {
    let elements = source.tensors().iter().enumerate().map(|(index, tensor)| {
        let mut elements = Vec::new();
        let read = source.read(index).and_then(|mut reader| reader.read_to_end(&mut elements));
        read.expect("the file has them");
        assert_eq!(elements.len() as u64, tensor.byte_len(), "{tensor:?}");
        elements
    });
    elements.collect()
}
