//! Headers to measure with, spelled as the usual writers spell them.

/// Length of the file in front of the header: the header's own length.
const PREFIX: u32 = 8;
/// Bytes of one tensor: `F32` in the shape `[2,2]`.
const TENSOR_LEN: u32 = 16;

/// A header of equal tensors, listed in the order of their offsets or in the opposite one.
pub struct Header {
    pub tensors: u32,
    pub reversed: bool,
}

impl Header {
    /// The first bytes of the file, up to its data.
    pub fn bytes(&self) -> Vec<u8> {
        let ordinals: Vec<u32> = match self.reversed {
            false => (0..self.tensors).collect(),
            true => (0..self.tensors).rev().collect(),
        };
        let entries: Vec<String> = ordinals.into_iter().map(entry).collect();
        let mut json = format!("{{{}}}", entries.join(","));
        json.extend(std::iter::repeat_n(' ', json.len().next_multiple_of(PREFIX as usize) - json.len()));
        let length = json.len() as u64;
        [length.to_le_bytes().as_slice(), json.as_bytes()].concat()
    }

    /// How many bytes of data follow.
    pub fn data_len(&self) -> u64 {
        u64::from(self.tensors * TENSOR_LEN)
    }
}

fn entry(ordinal: u32) -> String {
    let (begin, end) = (ordinal * TENSOR_LEN, (ordinal + 1) * TENSOR_LEN);
    format!(r#""layers.{ordinal}.weight":{{"dtype":"F32","shape":[2,2],"data_offsets":[{begin},{end}]}}"#)
}

#[cfg(test)]
mod tests {
    use super::Header;

    #[test]
    fn the_header_is_as_long_as_it_says() {
        let bytes = Header { tensors: 3, reversed: true }.bytes();
        let (length, json) = bytes.split_first_chunk().unwrap();
        assert_eq!(u64::from_le_bytes(*length), json.len() as u64);
        assert!(
            json.starts_with(br#"{"layers.2.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[32,48]},"#)
        );
    }
}
