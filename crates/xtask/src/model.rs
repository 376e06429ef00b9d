//! Writes and reads small model files without the library, which is under test and must not be its own
//! judge.

use std::ops::Range;

/// A model file under construction, with its tensors in file order.
#[derive(Clone, Default)]
pub struct ModelFile {
    entries: Vec<String>,
    data: Vec<u8>,
}

impl ModelFile {
    /// Adds a tensor.
    pub fn with(mut self, name: &str, dtype: &str, dims: &str, bytes: impl IntoIterator<Item = u8>) -> Self {
        let begin = self.data.len();
        self.data.extend(bytes);
        let end = self.data.len();
        self.entries
            .push(format!(r#""{name}":{{"dtype":"{dtype}","shape":{dims},"data_offsets":[{begin},{end}]}}"#));
        self
    }

    /// Returns the file, its header padded to a multiple of 8 bytes, as most writers do.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes_with_header(&padded(self.header()))
    }

    /// Returns the canonical header without padding.
    pub fn header(&self) -> String {
        format!("{{{}}}", self.entries.join(","))
    }

    /// Returns the file with another header.
    pub fn bytes_with_header(&self, header: &str) -> Vec<u8> {
        let length = (header.len() as u64).to_le_bytes();
        [&length, header.as_bytes(), &self.data].concat()
    }
}

/// Returns a header as the JSON libraries of some languages write it, with a space after each comma and
/// each colon, padded as most writers do.
pub fn spaced(header: &str) -> String {
    padded(header.replace(',', ", ").replace(':', ": "))
}

/// Pads a header to a multiple of 8 bytes.
pub fn padded(mut header: String) -> String {
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    header
}

/// Returns the number of bytes before a file's data.
pub fn data_start(file: &[u8]) -> Option<usize> {
    let length = u64::from_le_bytes(*file.first_chunk()?);
    usize::try_from(length).ok()?.checked_add(8)
}

/// Returns the range of a tensor's bytes in a file with a canonical header.
pub fn range(file: &[u8], name: &str) -> Option<Range<usize>> {
    let start = data_start(file)?;
    let header = std::str::from_utf8(file.get(8..start)?).ok()?;
    let (_, entry) = header.split_once(&format!(r#""{name}":{{"#))?;
    let (_, offsets) = entry.split_once(r#""data_offsets":["#)?;
    let (begin, end) = offsets.split_once(']')?.0.split_once(',')?;
    Some(start + begin.parse::<usize>().ok()?..start + end.parse::<usize>().ok()?)
}
