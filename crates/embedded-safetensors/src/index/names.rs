//! The names of an index: hashed into buckets inside the records, and sorted.
//!
//! There are as many buckets as records, so that no other table is needed: record *n* also holds where bucket
//! *n* begins. Links are positions counted from 1, so that 0 is none.

use super::memory::{IndexRecord, ShortHash};
use crate::util::bytes::WORDS;
use crate::util::bytes::{index_below, low_u32};
use crate::util::heapsort::{Items, sort, swap};
use crate::util::siphash::NameHash;
use core::hint::black_box;

/// The entire hash; in the unit tests so few bits that names collide all the time.
const HASH_MASK: u8 = if cfg!(test) { 3 << 6 } else { u8::MAX };

/// How many names are hashed before they are linked. A 64-bit processor then waits once for the memory that
/// their hashes lead to, not once for each name.
const BATCH: usize = if WORDS { 16 } else { 1 };

/// Returns the name of a record.
pub(crate) fn name_of<'t>(record: &IndexRecord, text: &'t [u8]) -> &'t [u8] {
    let start = record.name as usize;
    text.get(start..start + record.name_len as usize).unwrap_or(&[])
}

/// Returns the position of the tensor with this name.
pub(crate) fn find(records: &[IndexRecord], text: &[u8], key: [u64; 2], name: &[u8]) -> Option<usize> {
    let hash = hash_of(name, key);
    let first = records.get(bucket(hash, records.len()))?.first;
    find_in(records, text, first, hash, name)
}

/// As [`find`], for a name with this hash, in the bucket that begins with this link.
fn find_in(records: &[IndexRecord], text: &[u8], first: u32, hash: ShortHash, name: &[u8]) -> Option<usize> {
    let mut link = first;
    loop {
        let position = link.checked_sub(1)? as usize;
        let record = records.get(position)?;
        if record.hash == hash && name_of(record, text) == name {
            return Some(position);
        }
        link = record.begin_at_or_next;
    }
}

fn hash_of(name: &[u8], key: [u64; 2]) -> ShortHash {
    let mut hash = NameHash::new(key);
    hash.push(name);
    let [.., low, middle, high] = hash.finish().to_le_bytes();
    if cfg!(test) { [0, 0, high & HASH_MASK] } else { [low, middle, high] }
}

/// Returns the bucket of a hash: the hash as a fraction of the number of buckets.
fn bucket([low, middle, high]: ShortHash, buckets: usize) -> usize {
    let fraction = u32::from_le_bytes([low, middle, high, 0]);
    index_below((u64::from(fraction) * buckets as u64) >> 24, buckets).unwrap_or(0)
}

/// Hashes all names, and links their records into buckets, which must be empty. If there are duplicates,
/// returns where in the header the first name is that repeats an earlier one.
pub(crate) fn link_names(records: &mut [IndexRecord], text: &[u8], key: [u64; 2]) -> Option<u32> {
    let (mut repeat_at, mut start) = (None, 0);
    while start < records.len() {
        let buckets = hash_batch(records, start, text, key);
        if WORDS {
            preload(records, &buckets);
        }
        for (position, bucket) in (start..records.len()).zip(buckets) {
            repeat_at = earlier(repeat_at, link_one(records, text, position, bucket));
        }
        start += BATCH;
    }
    repeat_at
}

/// Hashes a batch of names from position `start` on. Returns their buckets.
fn hash_batch(records: &mut [IndexRecord], start: usize, text: &[u8], key: [u64; 2]) -> [usize; BATCH] {
    let (mut buckets, count) = ([0; BATCH], records.len());
    let some = records.get_mut(start..).unwrap_or_default();
    for (record, slot) in some.iter_mut().zip(&mut buckets) {
        record.hash = hash_of(name_of(record, text), key);
        *slot = bucket(record.hash, count);
    }
    buckets
}

/// Loads these buckets, and the first records in them, into the caches.
fn preload(records: &[IndexRecord], buckets: &[usize; BATCH]) {
    let mut seen = 0;
    for bucket in buckets {
        let first = records.get(*bucket).map_or(0, |record| record.first);
        seen |= records.get((first as usize).wrapping_sub(1)).map_or(0, |record| record.begin_at_or_next);
    }
    black_box(seen);
}

/// Links a record into its bucket. If the name is in there already, returns where in the header the later of
/// the two is.
fn link_one(records: &mut [IndexRecord], text: &[u8], position: usize, bucket: usize) -> Option<u32> {
    let record = records.get(position)?;
    let first = records.get(bucket)?.first;
    match find_in(records, text, first, record.hash, name_of(record, text)) {
        Some(duplicate) => merge_duplicates(records, duplicate, position),
        None => {
            insert(records, position, bucket);
            None
        }
    }
}

fn insert(records: &mut [IndexRecord], position: usize, bucket: usize) {
    let Some(bucket) = records.get_mut(bucket) else { return };
    let next = core::mem::replace(&mut bucket.first, low_u32(position as u64) + 1);
    if let Some(record) = records.get_mut(position) {
        record.begin_at_or_next = next;
    }
}

/// Keeps, of two records with the same name, the smaller offset in the header. Returns the larger one.
fn merge_duplicates(records: &mut [IndexRecord], kept: usize, position: usize) -> Option<u32> {
    let at = records.get(position)?.name_at_or_by_name;
    let kept_at = &mut records.get_mut(kept)?.name_at_or_by_name;
    let later = at.max(*kept_at);
    *kept_at = at.min(*kept_at);
    Some(later)
}

fn earlier(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

/// Sorts the names in the order of their bytes.
pub(crate) fn sort_names(records: &mut [IndexRecord], text: &[u8]) {
    for (record, position) in records.iter_mut().zip(0..) {
        record.name_at_or_by_name = position;
    }
    sort(&mut ByName { records, text });
}

struct ByName<'r, 't> {
    records: &'r mut [IndexRecord],
    text: &'t [u8],
}

impl ByName<'_, '_> {
    fn name(&self, rank: usize) -> Option<&[u8]> {
        let position = self.records.get(rank)?.name_at_or_by_name;
        self.records.get(position as usize).map(|record| name_of(record, self.text))
    }
}

impl Items for ByName<'_, '_> {
    fn count(&self) -> usize {
        self.records.len()
    }

    fn is_below(&self, a: usize, b: usize) -> bool {
        self.name(a) < self.name(b)
    }

    fn swap(&mut self, a: usize, b: usize) {
        if let Ok([one, other]) = self.records.get_disjoint_mut([a, b]) {
            core::mem::swap(&mut one.name_at_or_by_name, &mut other.name_at_or_by_name);
        }
    }
}

/// Records in the order of `(begin, end, position in the header)`.
pub(crate) struct ByOffset<'r> {
    pub(crate) records: &'r mut [IndexRecord],
}

impl ByOffset<'_> {
    fn key(&self, position: usize) -> Option<(u64, u64, u32)> {
        self.records.get(position).map(|record| (record.begin, record.end, record.begin_at_or_next))
    }
}

impl Items for ByOffset<'_> {
    fn count(&self) -> usize {
        self.records.len()
    }

    fn is_below(&self, a: usize, b: usize) -> bool {
        self.key(a) < self.key(b)
    }

    fn swap(&mut self, a: usize, b: usize) {
        swap(self.records, a, b);
    }
}
