//! The names of an index: hashed into buckets that live inside the records, and sorted.
//!
//! There are as many buckets as records, so that no table is needed besides them: the record at place
//! *n* also says where bucket *n* begins. Links are places counted from 1, so that 0 is none.

use super::memory::{IndexRecord, ShortHash};
use crate::util::bytes::WORDS;
use crate::util::bytes::{index_below, low_u32};
use crate::util::heapsort::{Items, sort, swap};
use crate::util::siphash::NameHash;
use core::hint::black_box;

/// All of the hash; in the unit tests so little of it that names collide all the time.
const HASH_MASK: u8 = if cfg!(test) { 3 << 6 } else { u8::MAX };

/// How many names are hashed before they are linked: a processor with long registers then waits for the memory that
/// their hashes lead to once, not for that of one after that of the other.
const TOGETHER: usize = if WORDS { 16 } else { 1 };

/// The name of a record.
pub(crate) fn name_of<'t>(record: &IndexRecord, text: &'t [u8]) -> &'t [u8] {
    let start = record.name as usize;
    text.get(start..start + record.name_len as usize).unwrap_or(&[])
}

/// The place of the tensor with this name.
pub(crate) fn find(records: &[IndexRecord], text: &[u8], key: [u64; 2], name: &[u8]) -> Option<usize> {
    let hash = hash_of(name, key);
    let first = records.get(bucket(hash, records.len()))?.first;
    find_in(records, text, first, hash, name)
}

/// As [`find`], in a bucket that has this hash and begins with this link.
fn find_in(records: &[IndexRecord], text: &[u8], first: u32, hash: ShortHash, name: &[u8]) -> Option<usize> {
    let mut link = first;
    loop {
        let place = link.checked_sub(1)? as usize;
        let record = records.get(place)?;
        if record.hash == hash && name_of(record, text) == name {
            return Some(place);
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

/// The bucket of a hash among so many: the hash as a fraction of that number.
fn bucket([low, middle, high]: ShortHash, buckets: usize) -> usize {
    let fraction = u32::from_le_bytes([low, middle, high, 0]);
    index_below((u64::from(fraction) * buckets as u64) >> 24, buckets).unwrap_or(0)
}

/// Hashes all names, of records of which none is the first of a bucket yet. If some occur twice: where the first one stands in the header that repeats an
/// earlier one.
pub(crate) fn link(records: &mut [IndexRecord], text: &[u8], key: [u64; 2]) -> Option<u32> {
    let (mut repeat_at, mut start) = (None, 0);
    while start < records.len() {
        let buckets = hash_some(records, start, text, key);
        if WORDS {
            touch(records, &buckets);
        }
        for (place, bucket) in (start..records.len()).zip(buckets) {
            repeat_at = earlier(repeat_at, link_one(records, text, place, bucket));
        }
        start += TOGETHER;
    }
    repeat_at
}

/// Hashes the names from this place on. In which buckets they belong.
fn hash_some(records: &mut [IndexRecord], start: usize, text: &[u8], key: [u64; 2]) -> [usize; TOGETHER] {
    let (mut buckets, count) = ([0; TOGETHER], records.len());
    let some = records.get_mut(start..).unwrap_or_default();
    for (record, slot) in some.iter_mut().zip(&mut buckets) {
        record.hash = hash_of(name_of(record, text), key);
        *slot = bucket(record.hash, count);
    }
    buckets
}

/// Has these buckets, and the first records in them, in the caches.
fn touch(records: &[IndexRecord], buckets: &[usize; TOGETHER]) {
    let mut seen = 0;
    for bucket in buckets {
        let first = records.get(*bucket).map_or(0, |record| record.first);
        seen |= records.get((first as usize).wrapping_sub(1)).map_or(0, |record| record.begin_at_or_next);
    }
    black_box(seen);
}

/// Puts the name of a record into its bucket. If it is in there: where in the header the later one of the two stands.
fn link_one(records: &mut [IndexRecord], text: &[u8], place: usize, bucket: usize) -> Option<u32> {
    let record = records.get(place)?;
    let first = records.get(bucket)?.first;
    match find_in(records, text, first, record.hash, name_of(record, text)) {
        Some(twin) => unite(records, twin, place),
        None => {
            insert(records, place, bucket);
            None
        }
    }
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
