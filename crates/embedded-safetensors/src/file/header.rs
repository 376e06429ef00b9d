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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::FileLen;

    /// A file whose edit in place begins after the first read.
    struct Edited(Vec<u8>);

    impl ReadAt for Edited {
        type Error = io::Error;

        fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            let Ok(len) = (&self.0[..]).read_at(offset, buffer);
            self.0[4..8].fill(0xFF);
            Ok(len)
        }

        fn file_len(&mut self) -> io::Result<FileLen> {
            Ok(FileLen::Unknown)
        }
    }

    #[test]
    fn edit_that_begins_between_two_reads_is_seen() {
        let file = [&5000_u64.to_le_bytes()[..], &[b' '; 5000]].concat();
        let header = read_header(&mut Edited(file), 5008).expect("readable");
        assert_eq!(header, [0x88, 0x13, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
    }
}
