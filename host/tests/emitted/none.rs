// Written by safetensors-emit from none. It needs the crate embedded-safetensors.

use embedded_safetensors::{Dtype, query::Query};

/// A tensor of the model. Offsets and sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its index in `TENSORS` and `QUERIES`.
    pub index: usize,
    /// Its name.
    pub name: &'static str,
    /// Its dtype.
    pub dtype: Dtype,
    /// Its dimensions, outermost first.
    pub shape: &'static [u64],
    /// Its number of elements.
    pub elements: usize,
    /// Its length in bytes.
    pub bytes: usize,
    /// Its offset in the file.
    pub offset: u64,
    /// Its offset in the data.
    pub begin: u64,
}

impl Tensor {
    /// Returns the query that finds it, and rejects another dtype or shape.
    pub const fn query(&self) -> Query<'static> {
        Query::required(self.name).dtype(self.dtype).shape(self.shape)
    }
}

/// Length of the file.
pub const FILE_BYTES: u64 = 10;
/// Length of the header, without the 8 bytes before it.
pub const HEADER_BYTES: u64 = 2;
/// Offset of the data in the file.
pub const DATA_START: u64 = 10;
/// Length of the data.
pub const DATA_BYTES: u64 = 0;
/// `IndexStorage<INDEX_TENSORS, INDEX_DIMS, INDEX_NAME_BYTES>` holds the index.
pub const INDEX_TENSORS: usize = 0;
/// Total number of dimensions, all tensors together.
pub const INDEX_DIMS: usize = 0;
/// Total length of all names, in bytes.
pub const INDEX_NAME_BYTES: usize = 0;
/// Memory of the index.
pub const INDEX_BYTES: usize = 0;
/// Length of the longest name.
pub const LONGEST_NAME: usize = 0;
/// Largest number of dimensions.
pub const MOST_DIMS: usize = 0;
/// Buffer size for the bytes of any tensor.
pub const LARGEST_TENSOR_BYTES: usize = 0;
/// Buffer size for the values of any tensor.
pub const LARGEST_TENSOR_ELEMENTS: usize = 0;
/// Buffer size for the bytes of any row, one index of the first axis.
pub const LARGEST_ROW_BYTES: usize = 0;
/// Buffer size for the values of any row.
pub const LARGEST_ROW_ELEMENTS: usize = 0;
/// The SHA-256 of the file, for `Model::verify`.
pub const SHA256: [u8; 32] = [
    0x41, 0x1a, 0x48, 0x52, 0x16, 0xe4, 0x32, 0xec, 0xe6, 0xb9, 0xaf, 0x94, 0xfa, 0x32, 0x15, 0x4c,
    0xf7, 0x9a, 0x2a, 0x56, 0xd4, 0xf8, 0x12, 0x66, 0xba, 0xa5, 0x00, 0x63, 0xf4, 0x50, 0x92, 0xbd,
];
/// The CRC-32 of the file, for `Model::verify`.
pub const CRC32: u32 = 0x050015f7;

/// All tensors, in data order.
pub const TENSORS: &[Tensor] = &[
];

/// What a program expects of the model, for `Model::open_with`: the queries of
/// `TENSORS`, in the same order.
pub const QUERIES: [Query<'static>; 0] = [
];

/// The keys and values of the metadata.
pub const METADATA: &[(&str, &str)] = &[
];
