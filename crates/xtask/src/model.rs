//! Small model files, written and read without the core: what is tested here must not be the judge.

use std::ops::Range;

/// A model file in the making, its tensors in the order in which they come.
#[derive(Clone, Default)]
pub struct ModelFile {
    entries: Vec<String>,
    data: Vec<u8>,
}

impl ModelFile {
    /// With one more tensor.
    pub fn with(mut self, name: &str, dtype: &str, dims: &str, bytes: impl IntoIterator<Item = u8>) -> Self {
        let begin = self.data.len();
        self.data.extend(bytes);
        let end = self.data.len();
        self.entries
            .push(format!(r#""{name}":{{"dtype":"{dtype}","shape":{dims},"data_offsets":[{begin},{end}]}}"#));
        self
    }

    /// With bytes that belong to no tensor.
    pub fn with_hole(mut self, len: usize) -> Self {
        self.data.resize(self.data.len() + len, 0);
        self
    }

    /// Listed the last one first.
    pub fn reversed(mut self) -> Self {
        self.entries.reverse();
        self
    }

    pub fn data_len(&self) -> usize {
        self.data.len()
    }

    /// The file, its header filled up to a multiple of 8 bytes, as the usual writers do.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes_with_header(&filled(self.header()))
    }

    /// The header as it is spelled, without what fills it up.
    pub fn header(&self) -> String {
        format!("{{{}}}", self.entries.join(","))
    }

    /// The file with another header.
    pub fn bytes_with_header(&self, header: &str) -> Vec<u8> {
        let length = (header.len() as u64).to_le_bytes();
        [&length, header.as_bytes(), &self.data].concat()
    }
}

/// A header as the JSON libraries of some languages put it, with a space behind each comma and each colon; filled up as the
/// usual writers do.
pub fn spaced(header: &str) -> String {
    filled(header.replace(',', ", ").replace(':', ": "))
}

/// To a multiple of 8 bytes.
pub fn filled(mut header: String) -> String {
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    header
}

/// How many bytes a file has in front of its data.
pub fn data_start(file: &[u8]) -> Option<usize> {
    let length = u64::from_le_bytes(*file.first_chunk()?);
    usize::try_from(length).ok()?.checked_add(8)
}

/// Where the bytes of a tensor lie in a file whose header is spelled as the usual writers do.
pub fn range(file: &[u8], name: &str) -> Option<Range<usize>> {
    let start = data_start(file)?;
    let header = std::str::from_utf8(file.get(8..start)?).ok()?;
    let (_, entry) = header.split_once(&format!(r#""{name}":{{"#))?;
    let (_, offsets) = entry.split_once(r#""data_offsets":["#)?;
    let (begin, end) = offsets.split_once(']')?.0.split_once(',')?;
    Some(start + begin.parse::<usize>().ok()?..start + end.parse::<usize>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_found() {
        let file = ModelFile::default().with("a", "U8", "[3]", [1, 2, 3]).with("b", "U8", "[]", [4]).bytes();
        let start = data_start(&file).unwrap();
        assert_eq!(start % 8, 0);
        assert_eq!(file[8..start].trim_ascii_end().last(), Some(&b'}'));
        assert_eq!(file[range(&file, "a").unwrap()], [1, 2, 3]);
        assert_eq!(file[range(&file, "b").unwrap()], [4]);
        assert_eq!(range(&file, "c"), None);
    }

    #[test]
    fn spaces_stand_behind_colons_and_commas() {
        let header = spaced(&ModelFile::default().with("a", "U8", "[1,3]", [1, 2, 3]).header());
        assert_eq!(
            header.trim_ascii_end(),
            r#"{"a": {"dtype": "U8", "shape": [1, 3], "data_offsets": [0, 3]}}"#
        );
        assert_eq!(header.len() % 8, 0);
    }
}
