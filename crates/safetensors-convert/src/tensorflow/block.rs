//! Reads the entries of one block of a table.
//!
//! A block is a list of entries, sorted by their keys, followed by the offsets of its restart points and
//! their number. An entry is three numbers (how many bytes its key shares with the previous key, how many
//! follow, the length of its value), the rest of the key, and the value. At a restart point nothing is
//! shared. This reader does not need these points, but validates them: other readers search with them.

use crate::proto::{Reason, take, varint};

/// The width of a restart point.
const POINT: usize = 4;

/// The entries of a block, read from front to end.
pub struct Block<'b> {
    entries: &'b [u8],
    /// The entries and the restart points that follow.
    rest: &'b [u8],
    points: &'b [u8],
    /// The key of the last entry.
    key: Vec<u8>,
}

impl<'b> Block<'b> {
    /// Creates a reader of a block's uncompressed contents.
    pub fn new(contents: &'b [u8]) -> Result<Self, Reason> {
        let (rest, number) = contents.split_last_chunk::<POINT>().ok_or("it has no restart points")?;
        let number = u32::from_le_bytes(*number);
        let start = usize::try_from(number).ok().and_then(|number| number.checked_mul(POINT));
        let start = start.and_then(|len| rest.len().checked_sub(len));
        let Some((entries, points)) = start.and_then(|start| rest.split_at_checked(start)) else {
            let len = rest.len();
            return Err(format!("it claims {number} restart points, which do not fit its {len} bytes"));
        };
        let block = Self { entries, rest: entries, points, key: Vec::new() };
        match block.point() {
            Some(0) => Ok(block),
            _ => Err("its first restart point is not its first entry".into()),
        }
    }

    /// Returns the value of the next entry. Its key is then [`key`](Self::key).
    pub fn next(&mut self) -> Result<Option<&'b [u8]>, Reason> {
        if self.rest.is_empty() {
            // A block without entries has one restart point, too.
            return match self.points.len() > if self.entries.is_empty() { POINT } else { 0 } {
                true => Err("a restart point is not the offset of an entry".into()),
                false => Ok(None),
            };
        }
        let at = self.entries.len() - self.rest.len();
        self.entry(at).map(Some).map_err(|reason| format!("entry at byte {at} of the block: {reason}"))
    }

    /// Returns the key of the last entry.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    fn entry(&mut self, at: usize) -> Result<&'b [u8], Reason> {
        let shared = varint(&mut self.rest)?;
        let own = varint(&mut self.rest)?;
        let len = varint(&mut self.rest)?;
        self.check_point(at, shared)?;
        let kept = usize::try_from(shared).ok().filter(|kept| *kept <= self.key.len());
        let kept = kept.ok_or_else(|| {
            format!("it shares {shared} bytes with the key before it, which has {}", self.key.len())
        })?;
        let own = take(&mut self.rest, own)?;
        // The shared bytes are equal, so the other ones decide.
        if at > 0 && own <= &self.key[kept..] {
            return Err("its key is not after the key before it".into());
        }
        self.key.truncate(kept);
        self.key.extend_from_slice(own);
        take(&mut self.rest, len)
    }

    fn check_point(&mut self, at: usize, shared: u64) -> Result<(), Reason> {
        match self.point() {
            Some(point) if point < at => Err("a restart point is not the offset of an entry".into()),
            Some(point) if point == at && shared > 0 => {
                Err("it is a restart point, but shares bytes with the key before it".into())
            }
            point => {
                self.points = &self.points[if point == Some(at) { POINT } else { 0 }..];
                Ok(())
            }
        }
    }

    /// Returns the next restart point; one that does not fit a `usize` is beyond the entries.
    fn point(&self) -> Option<usize> {
        let point = u32::from_le_bytes(*self.points.first_chunk()?);
        Some(usize::try_from(point).unwrap_or(usize::MAX))
    }
}
