//! The memory of an index, which the caller gives.

use crate::dtype::Dtype;

/// Memory for one tensor of an index.
///
/// *Memory*: 48 bytes, `Copy`.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct IndexRecord {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Where its name begins among the bytes of all names.
    pub(crate) name: u32,
    pub(crate) name_len: u32,
    /// Where its dimensions begin among those of all shapes.
    pub(crate) dims: u32,
    pub(crate) rank: u32,
    /// The first record of a bucket: that of the hashes which lead to this record's place.
    pub(crate) first: u32,
    /// While the index is built, where in the header the name stands. Afterwards, which record is in this
    /// record's place once they are sorted by their names.
    pub(crate) name_at_or_named: u32,
    /// While the index is built, where in the header the first offset stands. Afterwards, the next record of
    /// the bucket that this record is in.
    pub(crate) begin_at_or_next: u32,
    pub(crate) dtype: Dtype,
    /// Of the name.
    pub(crate) hash: ShortHash,
}

/// As much of a hash as there is room for.
pub(crate) type ShortHash = [u8; 3];

impl IndexRecord {
    /// A record with nothing in it, to make arrays of. All its bytes are zero.
    pub const EMPTY: Self = Self {
        begin: 0,
        end: 0,
        name: 0,
        name_len: 0,
        dims: 0,
        rank: 0,
        first: 0,
        name_at_or_named: 0,
        begin_at_or_next: 0,
        dtype: Dtype::BOOL,
        hash: [0; 3],
    };
}

impl Default for IndexRecord {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// How much memory an index of one header takes.
///
/// *Memory*: three words, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct IndexSize {
    /// How many tensors there are.
    pub tensors: usize,
    /// How many dimensions their shapes have together.
    pub dims: usize,
    /// How many bytes their names have together, in UTF-8.
    pub name_bytes: usize,
}

/// Memory for an index of so many tensors, whose shapes have so many dimensions together, and whose names
/// have so many bytes. `safetensors inspect` prints the three numbers for a file, and
/// [`Model::index_size`](crate::Model::index_size) knows them.
///
/// It may be a `static`, behind whatever hands out `&mut` once; all its bytes are zero, so it takes no
/// room in flash.
///
/// *Memory*: 48 bytes for a tensor, 8 for a dimension, and the names.
///
/// ```
/// use embedded_safetensors::{Model, index::IndexStorage};
/// use std::sync::Mutex;
///
/// static STORAGE: Mutex<IndexStorage<4, 8, 64>> = Mutex::new(IndexStorage::new());
///
/// let file: &[u8] = b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ab";
/// let mut storage = STORAGE.lock().unwrap();
/// let (mut model, index) = Model::open_indexed(file, storage.memory(), &mut [0; 64])?;
/// let a = index.find("a")?.expect("it is there");
/// assert_eq!(model.reader(&a)?.read_to_end(&mut [0; 8])?, b"ab");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct IndexStorage<const TENSORS: usize, const DIMS: usize, const NAME_BYTES: usize> {
    records: [IndexRecord; TENSORS],
    dims: [u64; DIMS],
    names: [u8; NAME_BYTES],
}

impl<const TENSORS: usize, const DIMS: usize, const NAME_BYTES: usize>
    IndexStorage<TENSORS, DIMS, NAME_BYTES>
{
    /// Memory with nothing in it.
    pub const fn new() -> Self {
        Self { records: [IndexRecord::EMPTY; TENSORS], dims: [0; DIMS], names: [0; NAME_BYTES] }
    }

    /// Lends the memory to an index. What an earlier one has left in it does not matter.
    pub const fn memory(&mut self) -> IndexMemory<'_> {
        IndexMemory::new(&mut self.records, &mut self.dims, &mut self.names)
    }
}

impl<const TENSORS: usize, const DIMS: usize, const NAME_BYTES: usize> Default
    for IndexStorage<TENSORS, DIMS, NAME_BYTES>
{
    fn default() -> Self {
        Self::new()
    }
}

/// Memory that an index borrows: of an [`IndexStorage`], or of slices from anywhere.
///
/// *Memory*: three slices and 16 bytes.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct IndexMemory<'m> {
    pub(crate) records: &'m mut [IndexRecord],
    pub(crate) dims: &'m mut [u64],
    pub(crate) names: &'m mut [u8],
    pub(crate) key: [u64; 2],
}

impl<'m> IndexMemory<'m> {
    /// These slices: one record for each tensor, one number for each dimension of their shapes, and bytes for
    /// their names.
    pub const fn new(records: &'m mut [IndexRecord], dims: &'m mut [u64], names: &'m mut [u8]) -> Self {
        Self { records, dims, names, key: [0; 2] }
    }

    /// The same memory, with a key for the hash of the names. No answer depends on it. A file can be made so
    /// that all its names collide under a key that its maker knows, and is then indexed in quadratic
    /// time: where files may be hostile, take a key by chance.
    pub const fn with_key(self, key: [u64; 2]) -> Self {
        Self { key, ..self }
    }
}
