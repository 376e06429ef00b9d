//! An index on the heap, with the metadata.

use super::build::IndexBuilder;
use super::memory::{IndexMemory, IndexRecord, IndexSize};
use super::names::find;
use super::{IndexedTensor, tensor_of};
use crate::error::{Error, ErrorKind};
use crate::header::progress::{Machine, Progress};
use crate::header::{Event, HeaderParser};
use crate::util::top_k::SortSlot;
use crate::validate::{Summary, Validator, validate_names};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::string::String;
use std::vec;
use std::vec::Vec;

/// The largest buffer for comparing duplicate names: longer names are compared piece by piece.
const MAX_TEXT: usize = 1 << 19;

/// The fewest bytes that a tensor takes in a header.
const MIN_ENTRY: usize = 50;

/// The longest header from whose length its memory is estimated. For a longer one the memory is measured
/// first, which takes one more pass.
const MAX_ESTIMATED: usize = 1 << 24;

/// The memory that a key or a value of the metadata takes besides its text: its entry in the map, and the
/// cost of an allocation.
const STRING_OVERHEAD: usize = 80;

/// All tensors and the metadata of a header, validated, on the heap. For programs that read headers
/// themselves, for example from a server; [`FileModel`](crate::FileModel) and
/// [`MappedModel`](crate::MappedModel) contain one.
///
/// ```
/// use embedded_safetensors::index::OwnedIndex;
///
/// let header = b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ";
/// let index = OwnedIndex::of(header, 66)?;
/// assert_eq!(index.find("a")?.map(|tensor| tensor.byte_len()), Some(2));
/// # Ok::<(), embedded_safetensors::Error>(())
/// ```
///
/// *Memory*: 48 bytes for a tensor, 8 for a dimension, the names and the metadata.
#[derive(Clone)]
pub struct OwnedIndex {
    /// In the order of their offsets.
    records: Vec<IndexRecord>,
    dims: Vec<u64>,
    names: String,
    /// Chosen at random, so that no file can be made whose names all collide.
    key: [u64; 2],
    summary: Summary,
    metadata: Option<BTreeMap<String, String>>,
}

impl OwnedIndex {
    /// Validates a header, including duplicate names, and lists its tensors and metadata. `header` begins
    /// with the 8 bytes of the length, and ends where the data begins, or where the file of `file_len` bytes
    /// ends before that.
    ///
    /// # Errors
    /// As [`validate`](crate::validate::validate()).
    pub fn of(header: &[u8], file_len: u64) -> Result<Self, Error> {
        match Self::of_at_most(header, file_len, usize::MAX)? {
            Some(index) => Ok(index),
            None => Err(ErrorKind::Changed.at(0)), // unreachable: no index takes as much
        }
    }

    /// As [`of`](Self::of), but returns `None` if the file is valid and the index would take more than about
    /// `most` bytes of memory. A header can be made whose index takes several times as much memory as the
    /// header.
    ///
    /// # Errors
    /// As [`validate`](crate::validate::validate()).
    pub fn of_at_most(header: &[u8], file_len: u64, most: usize) -> Result<Option<Self>, Error> {
        let random = RandomState::new();
        let key = [random.hash_one(0), random.hash_one(1)];
        let capacity = estimate(header);
        let mut memory = Memory::new(capacity);
        let builder = memory.build(header, file_len, key)?;
        let (size, has_metadata) = (builder.size(), builder.has_metadata());
        let Some(left) = most.checked_sub(bytes(size)) else {
            return validate_alone(header, file_len, key).map(|()| None);
        };
        let built = if fits(size, capacity) {
            builder.finish().map(|index| index.summary())
        } else {
            drop(memory);
            memory = Memory::new(size);
            memory.build(header, file_len, key)?.finish().map(|index| index.summary())
        };
        let metadata = if has_metadata { metadata_of(header, left)? } else { Some(Metadata::default()) };
        let Some(metadata) = metadata else {
            return validate_alone(header, file_len, key).map(|()| None);
        };
        let has_duplicate_names = matches!(built, Err(Error { kind: ErrorKind::DuplicateName, .. }));
        if has_duplicate_names || (built.is_ok() && metadata.has_duplicate_keys) {
            // Finds which of the names and keys is first in the header.
            validate_names(header, key, &mut slots(header), &mut vec![0; header.len().min(MAX_TEXT)])?;
        }
        let summary = built?;
        let Memory { records, dims, names } = memory.shrink(size);
        // The parser has validated every name.
        let names = String::from_utf8(names).unwrap_or_default();
        Ok(Some(Self { records, dims, names, key, summary, metadata: metadata.pairs }))
    }

    /// Returns how many tensors there are, where the data begins and how long it is.
    pub const fn summary(&self) -> Summary {
        self.summary
    }

    /// Returns how many tensors there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no tensor.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the tensor with this name, in the time that it takes to hash the name.
    ///
    /// # Errors
    /// None: the header has been validated.
    #[inline]
    pub fn find(&self, name: &str) -> Result<Option<IndexedTensor<'_>>, Error> {
        Ok(self.find_with_place(name).map(|(tensor, _)| tensor))
    }

    /// Returns the tensor with this name, and where in the header the name is.
    #[inline]
    pub(crate) fn find_with_place(&self, name: &str) -> Option<(IndexedTensor<'_>, u64)> {
        let position = find(&self.records, self.names.as_bytes(), self.key, name.as_bytes())?;
        let record = self.records.get(position)?;
        Some((self.tensor(record), record.name_at_or_by_name.into()))
    }

    /// Iterates over all tensors in the order of their offsets. Empty ones come before the one that begins at
    /// the same offset.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = IndexedTensor<'_>> + DoubleEndedIterator {
        self.records.iter().map(|record| self.tensor(record))
    }

    /// Iterates over all tensors in the order of the header, which is found by sorting.
    ///
    /// *Memory*: one word for each tensor, while the iterator is used.
    pub fn in_header_order(&self) -> impl ExactSizeIterator<Item = IndexedTensor<'_>> + DoubleEndedIterator {
        let mut records: Vec<&IndexRecord> = self.records.iter().collect();
        records.sort_unstable_by_key(|record| record.name_at_or_by_name);
        records.into_iter().map(|record| self.tensor(record))
    }

    /// Returns the keys and values of `__metadata__`, if there is any.
    pub fn metadata(&self) -> Option<&BTreeMap<String, String>> {
        self.metadata.as_ref()
    }

    fn tensor(&self, record: &IndexRecord) -> IndexedTensor<'_> {
        tensor_of(record, &self.dims, &self.names)
    }
}

impl core::fmt::Debug for OwnedIndex {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.tensors()).finish()
    }
}

/// The parts of an index while it is built.
struct Memory {
    records: Vec<IndexRecord>,
    dims: Vec<u64>,
    names: Vec<u8>,
}

impl Memory {
    fn new(size: IndexSize) -> Self {
        let records = vec![IndexRecord::EMPTY; size.tensors];
        Self { records, dims: vec![0; size.dims], names: vec![0; size.name_bytes] }
    }

    /// Reads a header. Parts that do not fit are counted.
    ///
    /// # Errors
    /// Those of the header.
    fn build(&mut self, header: &[u8], file_len: u64, key: [u64; 2]) -> Result<IndexBuilder<'_>, Error> {
        let Self { records, dims, names } = self;
        let memory = IndexMemory::new(records, dims, names).with_key(key);
        let mut builder = IndexBuilder::new(Some(file_len), memory);
        match builder.push(&mut &*header) {
            Some(Progress::Done) => Ok(builder),
            Some(_) => builder.end_of_input().map(|()| builder),
            None => Err(builder.failure()),
        }
    }

    /// Keeps the front of each part, and releases the memory after it.
    fn shrink(mut self, size: IndexSize) -> Self {
        self.records.truncate(size.tensors);
        self.records.shrink_to_fit();
        self.dims.truncate(size.dims);
        self.dims.shrink_to_fit();
        self.names.truncate(size.name_bytes);
        self.names.shrink_to_fit();
        self
    }
}

/// Validates a header whose index would take too much memory.
///
/// # Errors
/// As [`validate`](crate::validate::validate()).
fn validate_alone(header: &[u8], file_len: u64, key: [u64; 2]) -> Result<(), Error> {
    let mut slots = slots(header);
    let mut validator = Validator::new(Some(file_len), &mut slots);
    while let Progress::Rewind = validator.push(&mut &*header)? {}
    validate_names(header, key, &mut slots, &mut vec![0; header.len().min(MAX_TEXT)])
}

/// Returns memory that is enough for most headers of this length.
fn estimate(header: &[u8]) -> IndexSize {
    let len = header.len().min(MAX_ESTIMATED);
    IndexSize { tensors: len / 80 + 1, dims: len / 32, name_bytes: len / 2 }
}

fn fits(size: IndexSize, capacity: IndexSize) -> bool {
    size.tensors <= capacity.tensors && size.dims <= capacity.dims && size.name_bytes <= capacity.name_bytes
}

fn bytes(size: IndexSize) -> usize {
    size.tensors * size_of::<IndexRecord>() + size.dims * size_of::<u64>() + size.name_bytes
}

/// Returns a slot for each tensor that such a header can have. With fewer, each pass over the header sorts
/// only as many.
fn slots(header: &[u8]) -> Vec<SortSlot> {
    vec![SortSlot::EMPTY; 2 + header.len() / MIN_ENTRY]
}

#[derive(Default)]
struct Metadata {
    pairs: Option<BTreeMap<String, String>>,
    /// Whether a key is duplicate.
    has_duplicate_keys: bool,
}

/// Returns the metadata of a valid header, unless it takes more than `most` bytes of memory.
///
/// # Errors
/// None, if the header is valid.
fn metadata_of(header: &[u8], most: usize) -> Result<Option<Metadata>, Error> {
    let (mut parser, mut input) = (HeaderParser::new(), header);
    let (mut metadata, mut key, mut value) = (Metadata::default(), Vec::new(), Vec::new());
    let mut left = most;
    loop {
        match parser.next(&mut input)? {
            Event::Metadata => metadata.pairs = Some(BTreeMap::new()),
            Event::Key(piece) => key.extend(piece.as_bytes()),
            Event::Value(piece) => value.extend(piece.as_bytes()),
            Event::ValueEnd => {
                let Some(rest) = left.checked_sub(2 * STRING_OVERHEAD + key.len() + value.len()) else {
                    return Ok(None);
                };
                left = rest;
                let pairs = metadata.pairs.get_or_insert_default();
                let earlier = pairs.insert(text(&mut key), text(&mut value));
                metadata.has_duplicate_keys |= earlier.is_some();
            }
            Event::MetadataNull => return Ok(Some(Metadata::default())),
            Event::MetadataEnd | Event::HeaderEnd | Event::NeedInput => return Ok(Some(metadata)),
            _ => {}
        }
    }
}

/// Takes the text. The parser has validated every text that it completes; pieces may end inside a character.
fn text(bytes: &mut Vec<u8>) -> String {
    String::from_utf8(core::mem::take(bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{OwnedIndex, slots};
    use crate::error::ErrorKind;
    use std::string::String;
    use std::vec::Vec;
    use std::{format, vec};

    /// With fewer slots than tensors a header is read several times.
    #[test]
    fn slots_cover_all_tensors() {
        const TENSORS: usize = 1000;
        let member = |name: String| format!(r#""{name}":{{"dtype":"U8","shape":[],"data_offsets":[0,0]}}"#);
        let names =
            (0..TENSORS).map(|number| if number == 0 { String::new() } else { format!("{number:x}") });
        let header = format!("{{{}}}", names.map(member).collect::<Vec<_>>().join(","));
        assert!((TENSORS..3 * TENSORS).contains(&slots(header.as_bytes()).len()));
        assert!(slots(format!("{{{}}}", member(String::new())).as_bytes()).len() > 1);
    }

    /// Returns a header with these members, and the length of the file.
    fn header(members: &[String], data: u64) -> (Vec<u8>, u64) {
        let text = format!("{{{}}}", members.join(","));
        let header = [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
        let len = header.len() as u64 + data;
        (header, len)
    }

    /// The memory is estimated, and allocated again if it was too little.
    #[test]
    fn any_mix_of_names_and_dimensions_fits() {
        let long_names = |index: u64| {
            format!(
                r#""{}{index}":{{"dtype":"U8","shape":[],"data_offsets":[{index},{}]}}"#,
                "n".repeat(300),
                index + 1
            )
        };
        let many_dims = |index: u64| {
            format!(
                r#""{index}":{{"dtype":"U8","shape":[{}1],"data_offsets":[{index},{}]}}"#,
                "1,".repeat(300),
                index + 1
            )
        };
        let short = |index: u64| {
            format!(r#""{index}":{{"dtype":"U8","shape":[],"data_offsets":[{index},{}]}}"#, index + 1)
        };
        for member in [&long_names as &dyn Fn(u64) -> String, &many_dims, &short] {
            let reversed: Vec<String> = (0..100).rev().map(member).collect();
            let (header, len) = header(&reversed, 100);
            let index = OwnedIndex::of(&header, len).expect("valid header");
            assert!(index.tensors().map(|tensor| tensor.begin()).eq(0..100));
            assert!(index.in_header_order().map(|tensor| tensor.begin()).eq((0..100).rev()));
        }
    }

    /// A fault of the layout comes before a duplicate, whether or not there is memory for the index.
    #[test]
    fn verdict_does_not_depend_on_the_memory() {
        let tensor = |name: &str, begin: u64| {
            format!(r#""{name}":{{"dtype":"U8","shape":[1],"data_offsets":[{begin},{}]}}"#, begin + 1)
        };
        let keys = String::from(r#""__metadata__":{"k":"","k":""}"#);
        let hole = vec![keys.clone(), tensor("a", 0), tensor("b", 2)];
        let names = vec![tensor("a", 0), tensor("a", 1)];
        let reversed = vec![tensor("b", 1), tensor("a", 0)];
        for (members, data, kind) in [
            (hole, 3, ErrorKind::Hole { begin: 2, previous_end: 1 }),
            (vec![keys, tensor("a", 0)], 1, ErrorKind::DuplicateKey),
            (names, 2, ErrorKind::DuplicateName),
            (reversed, 3, ErrorKind::DataTrailing { needed: 2 }),
        ] {
            let (header, len) = header(&members, data);
            let of = OwnedIndex::of(&header, len).map(drop);
            assert_eq!(of.map_err(|error| error.kind), Err(kind));
            for most in [0, 49, 100, 200, 1000] {
                assert_eq!(OwnedIndex::of_at_most(&header, len, most).map(drop), of, "{most}");
            }
            let cut = OwnedIndex::of(&header[..20], len).map(drop);
            assert_eq!(
                cut.map_err(|error| (error.kind.code(), error.at)),
                Err(("container.header-beyond-file", 20))
            );
        }
    }

    #[test]
    fn index_above_memory_limit_is_none() {
        let dims = [format!(r#""a":{{"dtype":"U8","shape":[{}1],"data_offsets":[0,1]}}"#, "1,".repeat(999))];
        let pairs: Vec<String> = (0..100).map(|key| format!(r#""{key:20}":"""#)).collect();
        let pairs = [format!(r#""__metadata__":{{{}}}"#, pairs.join(","))];
        for (members, data, bytes) in [(&dims, 1, 8049), (&pairs, 0, 18_000)] {
            let (header, len) = header(members, data);
            for (most, is_listed) in [(bytes - 1, false), (bytes, true)] {
                let index = OwnedIndex::of_at_most(&header, len, most).expect("valid header");
                assert_eq!(index.is_some(), is_listed, "{most}");
            }
        }
    }
}
