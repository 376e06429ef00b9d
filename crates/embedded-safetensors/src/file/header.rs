//! Reads the bytes of a header.

use super::error::FileErrorKind;
use crate::error::{Error, ErrorKind, MAX_HEADER_LEN};
use crate::io::ReadAt;
use std::io;
use std::string::String;
use std::vec;
use std::vec::Vec;

/// The length of the first read, which is usually more than the header.
const FIRST: u64 = 4096;

/// Reads a file of this length up to its data, or as many of those bytes as there are. They are not validated
/// yet.
///
/// # Errors
/// Those of the system.
pub fn read_header(file: &mut impl ReadAt<Error = io::Error>, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = read_first(file, len.min(FIRST))?;
    let end = match bytes.first_chunk().map(|prefix| u64::from_le_bytes(*prefix)) {
        Some(header_len) if header_len <= MAX_HEADER_LEN => len.min(8 + header_len),
        // Of a header that is too long only the length is used.
        _ => len.min(8),
    };
    let present = bytes.len();
    bytes.resize(usize::try_from(end).unwrap_or(0), 0);
    if let Some(rest @ [_, ..]) = bytes.get_mut(present..) {
        let read = read_up_to(file, present as u64, rest)?;
        bytes.truncate(present + read);
        // If an edit in place has begun since the first read, its mark is now in the file.
        let mut prefix = [0; 8];
        if read_up_to(file, 0, &mut prefix)? == 8 && !bytes.starts_with(&prefix) {
            return Ok(prefix.to_vec());
        }
    }
    Ok(bytes)
}

/// Reads the first `len` bytes of a file, or all if there are fewer.
fn read_first(file: &mut impl ReadAt<Error = io::Error>, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    let present = read_up_to(file, 0, &mut bytes)?;
    bytes.truncate(present);
    Ok(bytes)
}

/// Fills the buffer up to the end of the file. Returns the number of bytes filled.
///
/// # Errors
/// Those of the system.
pub fn read_up_to(
    file: &mut impl ReadAt<Error = io::Error>,
    offset: u64,
    buffer: &mut [u8],
) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(unfilled @ [_, ..]) = buffer.get_mut(filled..) {
        match file.read_at(offset + filled as u64, unfilled) {
            Ok(0) => break,
            Ok(len) => filled += len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Returns why a header is rejected, with the name of a duplicate name or key.
pub fn refusal(error: Error, header: &[u8]) -> FileErrorKind {
    match error.kind {
        ErrorKind::DuplicateName | ErrorKind::DuplicateKey => {
            FileErrorKind::Duplicate { error, name: spelled_at(header, error.at) }
        }
        _ => FileErrorKind::Format(error),
    }
}

/// Returns the string at this offset of a valid header, with its escapes.
fn spelled_at(bytes: &[u8], at: u64) -> String {
    let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or(&[]);
    let mut is_escaped = false;
    let text = rest.iter().skip(1).take_while(|&&byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        !is_end
    });
    String::from_utf8_lossy(&text.copied().collect::<Vec<u8>>()).into_owned()
}
