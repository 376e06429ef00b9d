//! Use this when you look up many tensors, or when tensors have more dimensions than a [`Shape`] holds. An
//! index holds all tensors of a header in memory that you own;
//! [`Model::build_index`](crate::Model::build_index) builds one.

pub(crate) mod build;
pub(crate) mod memory;
pub(crate) mod names;
#[cfg(feature = "std")]
pub(crate) mod owned;

pub use memory::{IndexMemory, IndexRecord, IndexSize, IndexStorage};
#[cfg(feature = "std")]
pub use owned::OwnedIndex;

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::index::names::{find, link_names, sort_names};
use crate::shape::Shape;
use crate::tensor::info::{Extent, TensorInfo};
use crate::tensor::span::{Located, Location};
use crate::validate::Summary;

/// All tensors of a header, for lookups by name or by offset that read nothing from storage.
///
/// It is validated: the tensors are contiguous, and no two have the same name. Keys of `__metadata__` are not
/// examined: [`Model::validate_names`](crate::Model::validate_names) finds duplicates among them. Shapes may
/// have any number of dimensions.
///
/// *Memory*: at most 96 bytes, and what it borrows: for each tensor an [`IndexRecord`] of 48 bytes, for each
/// dimension 8, and the names. There is no other table.
///
/// ```
/// use embedded_safetensors::{Model, index::IndexStorage};
///
/// # let storage = &include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/network.safetensors"))[..];
/// let mut memory = IndexStorage::<5, 7, 45>::new(); // tensors, dimensions, bytes of names
/// let (mut model, index) = Model::open_indexed(storage, memory.memory(), &mut [0; 64])?;
/// let weight = index.find("fc1.weight")?.ok_or("no weight")?; // reads nothing
/// assert_eq!((index.len(), weight.dims()), (5, &[64, 32][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Index<'m> {
    /// In the order of their offsets.
    records: &'m mut [IndexRecord],
    dims: &'m [u64],
    names: &'m str,
    key: [u64; 2],
    summary: Summary,
    /// Whether the records hold the order of the names.
    names_are_sorted: bool,
}

impl<'m> Index<'m> {
    /// Creates an index of contiguous records, in the order of their offsets, that still hold their offsets
    /// in the header.
    ///
    /// # Errors
    /// [`ErrorKind::DuplicateName`].
    pub(crate) fn new(
        records: &'m mut [IndexRecord],
        dims: &'m [u64],
        names: &'m str,
        key: [u64; 2],
        summary: Summary,
    ) -> Result<Self, Error> {
        match link_names(records, names.as_bytes(), key) {
            Some(at) => Err(ErrorKind::DuplicateName.at(at.into())),
            None => Ok(Self { records, dims, names, key, summary, names_are_sorted: false }),
        }
    }

    /// Returns how many tensors there are.
    pub const fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no tensor.
    pub const fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns how many tensors there are, where the data begins and how long it is.
    pub const fn summary(&self) -> Summary {
        self.summary
    }

    /// Returns the tensor with this name, in the time that it takes to hash the name.
    ///
    /// # Errors
    /// None: the header has been validated. All lookups by name have this signature.
    #[inline]
    pub fn find(&self, name: &str) -> Result<Option<IndexedTensor<'m>>, Error> {
        let position = find(self.records, self.names.as_bytes(), self.key, name.as_bytes());
        Ok(position.and_then(|position| self.nth(position)))
    }

    /// Returns the tensor at this index in the order of the offsets, counted from 0.
    pub fn nth(&self, position: usize) -> Option<IndexedTensor<'m>> {
        self.records.get(position).map(|record| self.tensor(record))
    }

    /// Returns the tensor that byte `offset` of the data belongs to; `None` beyond the end of the data.
    pub fn at_offset(&self, offset: u64) -> Option<IndexedTensor<'m>> {
        self.nth(self.position_of(offset))
    }

    /// Returns the index of that tensor, which is the number of tensors that end at or before `offset`.
    pub(crate) fn position_of(&self, offset: u64) -> usize {
        self.records.partition_point(|record| record.end <= offset)
    }

    /// Iterates over all tensors in the order of their offsets. Empty ones come before the one that begins at
    /// the same offset.
    pub fn by_offset(&self) -> impl ExactSizeIterator<Item = IndexedTensor<'m>> {
        self.records.iter().map(|record| self.tensor(record))
    }

    /// Iterates over all tensors in the order of their names, byte by byte.
    ///
    /// The first call sorts the names. The order is kept inside the records, so it takes no memory.
    pub fn by_name(&mut self) -> impl Iterator<Item = IndexedTensor<'m>> {
        if !self.names_are_sorted {
            sort_names(self.records, self.names.as_bytes());
            self.names_are_sorted = true;
        }
        let index = &*self;
        index.records.iter().filter_map(|record| index.nth(record.name_at_or_by_name as usize))
    }

    fn tensor(&self, record: &IndexRecord) -> IndexedTensor<'m> {
        tensor_of(record, self.dims, self.names)
    }
}

/// Returns the tensor of a record, from the dimensions and the names of all tensors.
fn tensor_of<'m>(record: &IndexRecord, all_dims: &'m [u64], names: &'m str) -> IndexedTensor<'m> {
    let (name, dims) = (record.name as usize, record.dims as usize);
    IndexedTensor {
        name: names.get(name..name + record.name_len as usize).unwrap_or(""),
        dims: all_dims.get(dims..dims + record.rank as usize).unwrap_or(&[]),
        dtype: record.dtype,
        begin: record.begin,
        end: record.end,
    }
}

impl core::fmt::Debug for Index<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.by_offset()).finish()
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Index<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "[");
        for (index, tensor) in self.by_offset().enumerate() {
            defmt::write!(f, "{=str}{}", if index == 0 { "" } else { ", " }, tensor);
        }
        defmt::write!(f, "]");
    }
}

/// One tensor of an [`Index`]. It may outlive the index, but not the memory of the index.
///
/// *Memory*: 56 bytes, `Copy`; name and dimensions are borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct IndexedTensor<'m> {
    name: &'m str,
    dims: &'m [u64],
    dtype: Dtype,
    begin: u64,
    end: u64,
}

impl<'m> IndexedTensor<'m> {
    /// Returns the name.
    pub const fn name(&self) -> &'m str {
        self.name
    }

    /// Returns the element type.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Returns the dimensions, outermost first. There may be any number of them.
    pub const fn dims(&self) -> &'m [u64] {
        self.dims
    }

    /// Returns the first byte, counted from the start of the data.
    pub const fn begin(&self) -> u64 {
        self.begin
    }

    /// Returns the first byte after the tensor, counted from the start of the data.
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Returns the length in bytes.
    pub const fn byte_len(&self) -> u64 {
        self.end.wrapping_sub(self.begin) // cannot wrap: the tensor has been validated
    }

    /// Returns how many elements the tensor has.
    pub fn elements(&self) -> u64 {
        // Cannot wrap: the tensor has been validated.
        self.dims.iter().fold(1, |product, dim| product.wrapping_mul(*dim))
    }

    /// Returns the same in one value that borrows nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] when there are more dimensions than a [`Shape`] holds.
    pub const fn info(&self) -> Result<TensorInfo, ErrorKind> {
        match Shape::new(self.dims) {
            Ok(shape) => {
                let extent = Extent { begin: self.begin, end: self.end, begin_at: 0 };
                Ok(TensorInfo::checked(self.dtype, shape, extent))
            }
            Err(kind) => Err(kind),
        }
    }
}

impl Located for IndexedTensor<'_> {
    fn locate(&self) -> Result<Location, Error> {
        Ok(Location { dtype: self.dtype, header: 0, begin: self.begin, end: self.end })
    }

    fn dims(&self) -> &[u64] {
        self.dims
    }
}
