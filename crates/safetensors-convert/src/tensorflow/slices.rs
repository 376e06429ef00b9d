//! Slices of a partitioned variable, and the keys under which an index has them.
//!
//! The key of a slice is a zero byte, the variable's name, the rank, and the start and the length along each
//! axis, encoded so that keys are sorted as these are. It is made from the slices that the variable's entry
//! lists, and looked up.

use super::proto::{Fields, Reason, set};

/// The first byte of a slice's key, which no variable has.
pub const MARK: u8 = 0;

/// A slice along one axis, from `start` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first index.
    pub start: u64,
    /// How many indices; or the complete axis.
    pub len: Option<u64>,
}

impl Extent {
    /// Reads the slices along all axes.
    pub fn read_all(message: &[u8], rank: usize) -> Result<Vec<Self>, Reason> {
        let mut extents = Vec::new();
        for field in Fields::of(message) {
            if let (1, value) = field? {
                if extents.len() == rank {
                    return Err(format!("a slice has more axes than the rank {rank}"));
                }
                extents.push(Self::read(value.message("extent")?)?);
            }
        }
        match extents.len() {
            axes if axes < rank => Err(format!("a slice has {axes} axes, but the rank is {rank}")),
            _ => Ok(extents),
        }
    }

    fn read(message: &[u8]) -> Result<Self, Reason> {
        let (mut start, mut len) = (None, None);
        for field in Fields::of(message) {
            match field? {
                (1, value) => set(&mut start, value.count("start")?, "start")?,
                (2, value) => set(&mut len, value.count("length")?, "length")?,
                _ => {}
            }
        }
        Ok(Self { start: start.unwrap_or_default(), len })
    }

    /// Returns the start and the length on an axis of `dim` indices.
    pub fn on(self, dim: u64) -> Result<(u64, u64), Reason> {
        let (start, len) = (self.start, self.len.unwrap_or(dim));
        match start.checked_add(len) {
            Some(end) if end <= dim => Ok((start, len)),
            _ => Err(format!("a slice of {len} at {start} is not within an axis of {dim}")),
        }
    }
}

/// Returns the key of a slice of the variable with this name.
pub fn key(name: &[u8], extents: &[Extent]) -> Vec<u8> {
    let mut key = vec![MARK];
    for &byte in name {
        match byte {
            0 => key.extend([0, 0xff]),
            0xff => key.extend([0xff, 0]),
            _ => key.push(byte),
        }
    }
    key.extend([0, 1]);
    let rank = extents.len() as u64;
    let significant = rank.to_be_bytes().into_iter().skip_while(|byte| *byte == 0);
    let count = 8 - rank.leading_zeros() / 8;
    key.extend(count.to_le_bytes().first());
    key.extend(significant);
    for extent in extents {
        push_signed(&mut key, i64::try_from(extent.start).unwrap_or(i64::MAX));
        // A complete axis has the length -1.
        push_signed(&mut key, extent.len.map_or(-1, |len| i64::try_from(len).unwrap_or(i64::MAX)));
    }
    key
}

/// Adds a signed number: as many bytes as it needs with seven bits in each, of which one is its sign. Their
/// number is that of the highest bits that are inverted.
fn push_signed(key: &mut Vec<u8>, number: i64) {
    let magnitude = if number < 0 { !number } else { number }.unsigned_abs();
    let len = (u64::BITS - magnitude.leading_zeros()) / 7 + 1;
    let mut bytes = [if number < 0 { 0xff } else { 0 }; 10];
    bytes[2..].copy_from_slice(&number.to_be_bytes());
    let start = usize::try_from(len).map_or(0, |len| bytes.len().saturating_sub(len));
    let bytes = &mut bytes[start..];
    let header = (u16::MAX << (16 - len.min(16))).to_be_bytes();
    bytes.iter_mut().zip(header).for_each(|(byte, bits)| *byte ^= bits);
    key.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::{Extent, key, push_signed};

    /// As TensorFlow encodes them.
    #[test]
    fn keys_are_those_of_tensorflow() {
        let extents = [Extent { start: 0, len: Some(10) }, Extent { start: 200, len: Some(100) }];
        assert_eq!(key(b"part", &extents), b"\0part\0\x01\x01\x02\x80\x8a\xc0\xc8\xc0\x64");
        assert_eq!(key(b"a\0b\xff", &[]), b"\0a\0\xffb\xff\0\0\x01\0");
        assert_eq!(key(b"", &[Extent { start: 0, len: None }]), b"\0\0\x01\x01\x01\x80\x7f");
    }

    #[test]
    fn encoded_numbers_are_sorted() {
        let numbers = (0..63).flat_map(|bit| [(1_i64 << bit) - 1, 1 << bit]).chain([i64::MAX]);
        let mut numbers: Vec<i64> = numbers.flat_map(|number| [number, !number]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let encoded: Vec<Vec<u8>> = numbers
            .iter()
            .map(|number| {
                let mut bytes = Vec::new();
                push_signed(&mut bytes, *number);
                bytes
            })
            .collect();
        assert!(encoded.is_sorted_by(|first, second| first < second));
        assert_eq!(encoded.first().map(Vec::len), Some(10));
    }

    #[test]
    fn extents_are_within_their_axis() {
        assert_eq!(Extent { start: 2, len: Some(3) }.on(5), Ok((2, 3)));
        assert_eq!(Extent { start: 0, len: None }.on(5), Ok((0, 5)));
        let reason = "a slice of 3 at 3 is not within an axis of 5".to_owned();
        assert_eq!(Extent { start: 3, len: Some(3) }.on(5), Err(reason));
        assert!(Extent { start: u64::MAX, len: Some(2) }.on(5).is_err());
        assert!(Extent { start: 1, len: None }.on(5).is_err());
    }

    #[test]
    fn extents_are_as_many_as_axes() {
        let message = b"\x0a\x04\x08\x02\x10\x03\x0a\0";
        let extents = vec![Extent { start: 2, len: Some(3) }, Extent { start: 0, len: None }];
        assert_eq!(Extent::read_all(message, 2), Ok(extents));
        assert_eq!(Extent::read_all(message, 3), Err("a slice has 2 axes, but the rank is 3".into()));
        assert_eq!(Extent::read_all(message, 1), Err("a slice has more axes than the rank 1".into()));
        for wrong in [&b"\x0a\x04\x08\x02\x08\x02"[..], b"\x08\x02", b"\x0a\x02\x0a\0"] {
            assert!(Extent::read_all(wrong, 1).is_err());
        }
    }
}
