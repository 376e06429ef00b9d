//! Bytes and files for tests.

use crate::TensorSource;
use std::fs::File;
use std::io::{self, Read, Seek, Write};

/// Returns bytes that no two runs share, with every kind of number.
pub fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let bytes = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    });
    bytes.take(len).collect()
}

/// Returns an unnamed file with these bytes, at its beginning.
pub fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).and_then(|()| file.rewind()).expect("written");
    file
}

/// Reads the elements of a tensor.
pub fn read(source: &dyn TensorSource, index: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.read(index)?.read_to_end(&mut bytes).map(|_| bytes)
}
