//! What the targets share.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, Write};

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
