//! The memory of an index, which the caller provides.

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
    /// The first record of the bucket with this record's position.
    pub(crate) first: u32,
    /// While the index is built, where in the header the name is. Afterwards, which record is at this
    /// record's position in the order of the names.
    pub(crate) name_at_or_by_name: u32,
    /// While the index is built, where in the header the first offset is. Afterwards, the next record of the
    /// bucket that this record is in.
    pub(crate) begin_at_or_next: u32,
    pub(crate) dtype: Dtype,
    /// The hash of the name.
    pub(crate) hash: ShortHash,
}

/// As many bytes of a hash as the record has space for.
pub(crate) type ShortHash = [u8; 3];

impl IndexRecord {
    /// An empty record, to initialise arrays with. All its bytes are zero.
    pub const EMPTY: Self = Self {
        begin: 0,
        end: 0,
        name: 0,
        name_len: 0,
        dims: 0,
        rank: 0,
        first: 0,
        name_at_or_by_name: 0,
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

/// The memory that an index of one header takes.
///
/// *Memory*: three words, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct IndexSize {
    /// The number of tensors.
    pub tensors: usize,
    /// The number of dimensions of all shapes together.
    pub dims: usize,
    /// The number of bytes of all names together, in UTF-8.
    pub name_bytes: usize,
}

/// Memory for an index of `TENSORS` tensors, whose shapes have `DIMS` dimensions in total, and whose names
/// have `NAME_BYTES` bytes in total. `safetensors inspect` prints the three numbers for a file, and
/// [`Model::index_size`](crate::Model::index_size) returns them.
///
/// It may be a `static`, inside a cell that hands out `&mut` once. All its bytes are zero, so it takes no
/// space in flash.
///
/// *Memory*: 48 bytes for a tensor, 8 for a dimension, and the names.
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
    /// Creates empty memory.
    pub const fn new() -> Self {
        Self { records: [IndexRecord::EMPTY; TENSORS], dims: [0; DIMS], names: [0; NAME_BYTES] }
    }

    /// Returns the memory for an index. Contents left by an earlier index do not matter.
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

/// Memory that an index borrows, from an [`IndexStorage`] or from any slices.
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
    /// Creates the memory from slices: one record for each tensor, one number for each dimension of their
    /// shapes, and bytes for their names.
    pub const fn new(records: &'m mut [IndexRecord], dims: &'m mut [u64], names: &'m mut [u8]) -> Self {
        Self { records, dims, names, key: [0; 2] }
    }

    /// Sets the key for the hash of the names. No result depends on it. If its key is known, a file can be
    /// made whose names all collide, and is then indexed in quadratic time. If files may be hostile, choose a
    /// random key.
    pub const fn with_key(self, key: [u64; 2]) -> Self {
        Self { key, ..self }
    }
}
