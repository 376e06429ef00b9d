//! An index on the heap, with the metadata.

use super::build::IndexBuilder;
use super::memory::{IndexMemory, IndexRecord, IndexSize};
use super::names::find;
use super::{IndexedTensor, tensor_of};
use crate::error::{Error, ErrorKind};
use crate::header::progress::{Machine, Progress};
use crate::header::{Event, HeaderParser};
use crate::util::top_k::Slot;
use crate::validate::{Summary, check_names};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::string::String;
use std::vec;
use std::vec::Vec;

/// Memory to compare duplicate names in.
const TEXT: usize = 4096;

/// No tensor takes less of a header.
const ENTRY: usize = 50;

/// All tensors and the metadata of a header, validated, on the heap. For programs that have read a header by themselves, such as from a
/// server; [`FileModel`](crate::FileModel) and [`MappedModel`](crate::MappedModel) have one.
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
    /// Chosen by chance, so that no file can be made whose names all collide.
    key: [u64; 2],
    summary: Summary,
    metadata: Option<BTreeMap<String, String>>,
}

impl OwnedIndex {
    /// Validates a header, duplicate names included, and lists its tensors and metadata: `header` begins with the 8 bytes of the length and ends where
    /// the data begins, or where the file of `file_len` bytes ends before that.
    ///
    /// # Errors
    /// As [`check`](crate::validate::check()).
    pub fn of(header: &[u8], file_len: u64) -> Result<Self, Error> {
        let size = measure(header, file_len)?;
        let (mut records, mut dims) = (vec![IndexRecord::EMPTY; size.tensors], vec![0; size.dims]);
        let mut names = vec![0; size.name_bytes];
        let chance = RandomState::new();
        let key = [chance.hash_one(0), chance.hash_one(1)];
        let memory = IndexMemory::new(&mut records, &mut dims, &mut names).with_key(key);
        let mut builder = IndexBuilder::new(Some(file_len), memory);
        run(&mut builder, header)?;
        let built = builder.finish().map(|index| index.summary());
        let metadata = metadata_of(header)?;
        let has_twin_names = matches!(built, Err(Error { kind: ErrorKind::NameTwice, .. }));
        if has_twin_names || (built.is_ok() && metadata.has_twins) {
            // Which of the names and keys comes first in the header.
            check_names(header, [0, 0], &mut slots(header), &mut vec![0; TEXT])?;
        }
        let summary = built?;
        // The parser has validated every name.
        let names = String::from_utf8(names).unwrap_or_default();
        Ok(Self { records, dims, names, key, summary, metadata: metadata.pairs })
    }

    /// How many tensors there are, where the data begins, how long it is.
    pub const fn summary(&self) -> Summary {
        self.summary
    }

    /// How many tensors there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no tensor.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The tensor of this name, in the time that it takes to hash the name.
    ///
    /// # Errors
    /// None: the header has been validated.
    pub fn find(&self, name: &str) -> Result<Option<IndexedTensor<'_>>, Error> {
        Ok(self.find_with_place(name).map(|(tensor, _)| tensor))
    }

    /// The tensor of this name, and where in the header the name is.
    pub(crate) fn find_with_place(&self, name: &str) -> Option<(IndexedTensor<'_>, u64)> {
        let place = find(&self.records, self.names.as_bytes(), self.key, name.as_bytes())?;
        let record = self.records.get(place)?;
        Some((self.tensor(record), record.name_at_or_named.into()))
    }

    /// All tensors in the order of their offsets. Empty ones come before the one that begins where they lie.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = IndexedTensor<'_>> + DoubleEndedIterator {
        self.records.iter().map(|record| self.tensor(record))
    }

    /// The keys and values of `__metadata__`, if there is any.
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

/// How much memory the index of a header takes.
///
/// # Errors
/// Those of the header and the layout.
fn measure(header: &[u8], file_len: u64) -> Result<IndexSize, Error> {
    let memory = IndexMemory::new(&mut [], &mut [], &mut []);
    let mut builder = IndexBuilder::new(Some(file_len), memory);
    run(&mut builder, header)?;
    match builder.prove() {
        // To sort its tensors takes memory.
        Err(Error { kind: ErrorKind::Index { .. }, .. }) => {}
        verdict => drop(verdict?),
    }
    Ok(builder.size())
}

fn run(builder: &mut IndexBuilder<'_>, header: &[u8]) -> Result<(), Error> {
    match builder.push(&mut &*header) {
        Some(Progress::Done) => Ok(()),
        Some(_) => builder.end_of_input(),
        None => Err(builder.error()),
    }
}

/// One for each tensor that such a header can have: with fewer, it is read again for every so many.
fn slots(header: &[u8]) -> Vec<Slot> {
    vec![Slot::EMPTY; 2 + header.len() / ENTRY]
}

#[derive(Default)]
struct Metadata {
    pairs: Option<BTreeMap<String, String>>,
    /// A key is duplicate.
    has_twins: bool,
}

/// The metadata of a header that is sound.
///
/// # Errors
/// None, where it is.
fn metadata_of(header: &[u8]) -> Result<Metadata, Error> {
    let (mut parser, mut input) = (HeaderParser::new(), header);
    let (mut metadata, mut key, mut value) = (Metadata::default(), Vec::new(), Vec::new());
    loop {
        while parser.next_usual(&mut input).is_some() {}
        match parser.next(&mut input)? {
            Event::Metadata => metadata.pairs = Some(BTreeMap::new()),
            Event::Key(piece) => key.extend(piece.as_bytes()),
            Event::Value(piece) => value.extend(piece.as_bytes()),
            Event::ValueEnd => {
                let pairs = metadata.pairs.get_or_insert_default();
                let earlier = pairs.insert(text(&mut key), text(&mut value));
                metadata.has_twins |= earlier.is_some();
            }
            Event::MetadataNull => return Ok(Metadata::default()),
            Event::MetadataEnd | Event::HeaderEnd | Event::NeedInput => return Ok(metadata),
            _ => {}
        }
    }
}

/// The parser has validated every text that it completes; pieces may end inside a character.
fn text(bytes: &mut Vec<u8>) -> String {
    String::from_utf8(core::mem::take(bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::slots;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    /// With fewer slots than tensors a header is read again and again.
    #[test]
    fn there_is_a_slot_for_each_tensor() {
        const TENSORS: usize = 1000;
        let member = |name: String| format!(r#""{name}":{{"dtype":"U8","shape":[],"data_offsets":[0,0]}}"#);
        let names =
            (0..TENSORS).map(|number| if number == 0 { String::new() } else { format!("{number:x}") });
        let header = format!("{{{}}}", names.map(member).collect::<Vec<_>>().join(","));
        assert!((TENSORS..3 * TENSORS).contains(&slots(header.as_bytes()).len()));
        assert!(slots(format!("{{{}}}", member(String::new())).as_bytes()).len() > 1);
    }
}
