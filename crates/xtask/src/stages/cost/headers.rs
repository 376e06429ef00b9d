//! Headers to measure with, spelled as the usual writers spell them.

/// Length of the file in front of the header: the header's own length.
const PREFIX: u32 = 8;
/// Bytes of one tensor: `F32` in the shape `[2,2]`.
const TENSOR_LEN: u32 = 16;

/// A header of equal tensors, listed in the order of their offsets or in the opposite one.
pub struct Header {
    pub tensors: u32,
    pub reversed: bool,
    /// How many bytes the first tensor has, a multiple of 8; the others have 16.
    pub first_len: u32,
}

impl Header {
    /// No tensors, all as small as the others.
    pub const SMALL: Self = Self { tensors: 0, reversed: false, first_len: TENSOR_LEN };

    /// The first bytes of the file, up to its data.
    pub fn bytes(&self) -> Vec<u8> {
        let ordinals: Vec<u32> = match self.reversed {
            false => (0..self.tensors).collect(),
            true => (0..self.tensors).rev().collect(),
        };
        let entries: Vec<String> = ordinals.into_iter().map(|ordinal| self.entry(ordinal)).collect();
        let mut json = format!("{{{}}}", entries.join(","));
        json.extend(std::iter::repeat_n(' ', json.len().next_multiple_of(PREFIX as usize) - json.len()));
        let length = json.len() as u64;
        [length.to_le_bytes().as_slice(), json.as_bytes()].concat()
    }

    /// How many bytes of data follow.
    pub fn data_len(&self) -> u64 {
        self.begin(self.tensors).into()
    }

    fn entry(&self, ordinal: u32) -> String {
        let (begin, end) = (self.begin(ordinal), self.begin(ordinal + 1));
        let columns = (end - begin) / 8;
        format!(
            r#""layers.{ordinal}.weight":{{"dtype":"F32","shape":[2,{columns}],"data_offsets":[{begin},{end}]}}"#
        )
    }

    fn begin(&self, ordinal: u32) -> u32 {
        match ordinal.checked_sub(1) {
            None => 0,
            Some(others) => self.first_len + others * TENSOR_LEN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Header;

    #[test]
    fn the_header_is_as_long_as_it_says() {
        let header = Header { tensors: 3, reversed: true, ..Header::SMALL };
        let bytes = header.bytes();
        let (length, json) = bytes.split_first_chunk().unwrap();
        assert_eq!(u64::from_le_bytes(*length), json.len() as u64);
        assert!(
            json.starts_with(br#"{"layers.2.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[32,48]},"#)
        );
        assert_eq!(header.data_len(), 48);
    }

    #[test]
    fn the_first_tensor_may_be_longer() {
        let header = Header { tensors: 2, first_len: 800, ..Header::SMALL };
        let text = String::from_utf8(header.bytes().split_off(8)).unwrap();
        assert!(text.starts_with(
            r#"{"layers.0.weight":{"dtype":"F32","shape":[2,100],"data_offsets":[0,800]},"layers.1.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[800,816]}}"#
        ), "{text}");
    }
}
