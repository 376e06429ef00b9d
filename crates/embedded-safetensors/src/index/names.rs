//! The names of an index: hashed into buckets that live inside the records, and sorted.
//!
//! There are as many buckets as records, so that no table is needed besides them: the record at place
//! *n* also says where bucket *n* begins. Links are places counted from 1, so that 0 is none.

use super::memory::IndexRecord;
use super::sort::{Items, sort, swap};
use crate::bytes::{index_below, low_u32};
use crate::hash::NameHash;

/// All of the hash; in the unit tests so little of it that names collide all the time.
const HASH_MASK: u64 = if cfg!(test) { 3 << 62 } else { u64::MAX };

/// The name of a record.
pub(crate) fn name_of<'t>(record: &IndexRecord, text: &'t [u8]) -> &'t [u8] {
    let start = record.name as usize;
    text.get(start..start + record.name_len as usize).unwrap_or(&[])
}

/// The place of the tensor with this name.
pub(crate) fn find(records: &[IndexRecord], text: &[u8], key: [u64; 2], name: &[u8]) -> Option<usize> {
    find_in(records, text, bucket(name, key, records.len()), name)
}

fn find_in(records: &[IndexRecord], text: &[u8], bucket: usize, name: &[u8]) -> Option<usize> {
    let mut link = records.get(bucket)?.first;
    loop {
        let place = link.checked_sub(1)? as usize;
        let record = records.get(place)?;
        if name_of(record, text) == name {
            return Some(place);
        }
        link = record.begin_at_or_next;
    }
}

/// The bucket of a name among so many: the hash as a fraction of that number.
fn bucket(name: &[u8], key: [u64; 2], buckets: usize) -> usize {
    let mut hash = NameHash::new(key);
    hash.push(name);
    let fraction = (hash.finish() & HASH_MASK) >> 32;
    index_below((fraction * buckets as u64) >> 32, buckets).unwrap_or(0)
}

/// Hashes all names, of records of which none is the first of a bucket yet. If some occur twice: where the first one stands in the header that repeats an
/// earlier one.
pub(crate) fn link(records: &mut [IndexRecord], text: &[u8], key: [u64; 2]) -> Option<u32> {
    let mut repeat_at = None;
    for place in 0..records.len() {
        let Some(record) = records.get(place) else { continue };
        let name = name_of(record, text);
        let bucket = bucket(name, key, records.len());
        match find_in(records, text, bucket, name) {
            Some(twin) => repeat_at = earlier(repeat_at, unite(records, twin, place)),
            None => insert(records, place, bucket),
        }
    }
    repeat_at
}

fn insert(records: &mut [IndexRecord], place: usize, bucket: usize) {
    let Some(bucket) = records.get_mut(bucket) else { return };
    let next = core::mem::replace(&mut bucket.first, low_u32(place as u64) + 1);
    if let Some(record) = records.get_mut(place) {
        record.begin_at_or_next = next;
    }
}

/// Of two records with the same name, the first one keeps the place of the one that comes first in the
/// header. That of the other is returned.
fn unite(records: &mut [IndexRecord], kept: usize, place: usize) -> Option<u32> {
    let at = records.get(place)?.name_at_or_named;
    let kept_at = &mut records.get_mut(kept)?.name_at_or_named;
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
    for (record, place) in records.iter_mut().zip(0..) {
        record.name_at_or_named = place;
    }
    sort(&mut ByName { records, text });
}

struct ByName<'r, 't> {
    records: &'r mut [IndexRecord],
    text: &'t [u8],
}

impl ByName<'_, '_> {
    fn name(&self, rank: usize) -> Option<&[u8]> {
        let place = self.records.get(rank)?.name_at_or_named;
        self.records.get(place as usize).map(|record| name_of(record, self.text))
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
            core::mem::swap(&mut one.name_at_or_named, &mut other.name_at_or_named);
        }
    }
}

/// Records in the order of `(begin, end, position in the header)`.
pub(crate) struct ByOffset<'r> {
    pub(crate) records: &'r mut [IndexRecord],
}

impl ByOffset<'_> {
    fn key(&self, place: usize) -> Option<(u64, u64, u32)> {
        self.records.get(place).map(|record| (record.begin, record.end, record.begin_at_or_next))
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
