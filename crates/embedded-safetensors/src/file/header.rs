//! The bytes of a header.

use super::error::FileErrorKind;
use crate::error::{Error, ErrorKind, MAX_HEADER_LEN};
use crate::io::ReadAt;
use std::io;
use std::string::String;
use std::vec;
use std::vec::Vec;

/// As much is read at first: most often more than the header.
const FIRST: u64 = 4096;

/// The bytes of a file of this length up to where its data begin, or as many of them as there are. They are not validated yet.
///
/// # Errors
/// Those of the system.
pub fn read_header(file: &mut impl ReadAt<Error = io::Error>, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = read_first(file, len.min(FIRST))?;
    let end = match bytes.first_chunk().map(|prefix| u64::from_le_bytes(*prefix)) {
        Some(header_len) if header_len <= MAX_HEADER_LEN => len.min(8 + header_len),
        // Of a header that claims too much nothing but the claim is ever looked at.
        _ => len.min(8),
    };
    let present = bytes.len();
    bytes.resize(usize::try_from(end).unwrap_or(0), 0);
    if let Some(rest @ [_, ..]) = bytes.get_mut(present..) {
        let read = read_up_to(file, present as u64, rest)?;
        bytes.truncate(present + read);
        // If an edit in place has begun since the first read, its mark is there now.
        let mut prefix = [0; 8];
        if read_up_to(file, 0, &mut prefix)? == 8 && !bytes.starts_with(&prefix) {
            return Ok(prefix.to_vec());
        }
    }
    Ok(bytes)
}

/// The first bytes of a file; fewer where it does not have so many.
fn read_first(file: &mut impl ReadAt<Error = io::Error>, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    let present = read_up_to(file, 0, &mut bytes)?;
    bytes.truncate(present);
    Ok(bytes)
}

/// Fills the buffer as far as the file goes; how much of it is filled.
///
/// # Errors
/// Those of the system.
pub fn read_up_to(
    file: &mut impl ReadAt<Error = io::Error>,
    offset: u64,
    buffer: &mut [u8],
) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(room @ [_, ..]) = buffer.get_mut(filled..) {
        match file.read_at(offset + filled as u64, room) {
            Ok(0) => break,
            Ok(len) => filled += len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Returns why a header is refused, with the name if a name or key is duplicate.
pub fn refusal(error: Error, header: &[u8]) -> FileErrorKind {
    match error.kind {
        ErrorKind::NameTwice | ErrorKind::KeyTwice => {
            FileErrorKind::Twice { error, name: spelled_at(header, error.at) }
        }
        _ => FileErrorKind::Format(error),
    }
}

/// What is quoted at this place of a sound header, escapes as they stand there.
fn spelled_at(bytes: &[u8], at: u64) -> String {
    let quoted = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or(&[]);
    let mut is_escaped = false;
    let text = quoted.iter().skip(1).take_while(|&&byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        !is_end
    });
    String::from_utf8_lossy(&text.copied().collect::<Vec<u8>>()).into_owned()
}
