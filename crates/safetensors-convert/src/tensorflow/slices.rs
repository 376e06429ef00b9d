//! Slices of a partitioned variable, and the keys under which an index has them.
//!
//! The key of a slice is a zero byte, the variable's name, the rank, and the start and the length along each
//! axis, encoded so that keys are sorted as these are. It is made from the slices that the variable's entry
//! lists, and looked up.

use crate::proto::{Fields, Reason, Value, known};

/// The first byte of a slice's key, which no variable has.
pub const MARK: u8 = 0;

/// A slice along one axis: its first index, and its length; or the complete axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub start: u64,
    pub len: Option<u64>,
}

impl Extent {
    /// Reads the slices along all axes.
    pub fn read_all(message: &[u8], rank: usize) -> Result<Vec<Self>, Reason> {
        let mut extents = Vec::new();
        for field in Fields(message) {
            if let (1, value) = field? {
                if extents.len() == rank {
                    return Err(format!("a slice has more axes than the rank {rank}"));
                }
                let [start, len] = known(
                    value.message("extent")?.bytes,
                    [(1, "start", Value::count), (2, "length", Value::count)],
                )?;
                let number = |value: Value<&[u8]>| value.number;
                extents.push(Self { start: start.map_or(0, number), len: len.map(number) });
            }
        }
        match extents.len() {
            axes if axes < rank => Err(format!("a slice has {axes} axes, but the rank is {rank}")),
            _ => Ok(extents),
        }
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
