// Written by safetensors-emit from model.safetensors. It needs the crate embedded-safetensors.

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
pub const FILE_BYTES: u64 = 175;
/// Length of the header, without the 8 bytes before it.
pub const HEADER_BYTES: u64 = 155;
/// Offset of the data in the file.
pub const DATA_START: u64 = 163;
/// Length of the data.
pub const DATA_BYTES: u64 = 12;
/// `IndexStorage<INDEX_TENSORS, INDEX_DIMS, INDEX_NAME_BYTES>` holds the index.
pub const INDEX_TENSORS: usize = 2;
/// Total number of dimensions, all tensors together.
pub const INDEX_DIMS: usize = 3;
/// Total length of all names, in bytes.
pub const INDEX_NAME_BYTES: usize = 18;
/// Memory of the index.
pub const INDEX_BYTES: usize = 144;
/// Length of the longest name.
pub const LONGEST_NAME: usize = 10;
/// Largest number of dimensions.
pub const MOST_DIMS: usize = 2;
/// Buffer size for the bytes of any tensor.
pub const LARGEST_TENSOR_BYTES: usize = 8;
/// Buffer size for the values of any tensor.
pub const LARGEST_TENSOR_ELEMENTS: usize = 8;
/// Buffer size for the bytes of any row, one index of the first axis.
pub const LARGEST_ROW_BYTES: usize = 4;
/// Buffer size for the values of any row.
pub const LARGEST_ROW_ELEMENTS: usize = 4;
/// The SHA-256 of the file, for `Model::verify`.
pub const SHA256: [u8; 32] = [
    0x1e, 0xa7, 0x1f, 0x52, 0x6b, 0x01, 0x85, 0x26, 0x36, 0xe6, 0x16, 0xf8, 0xbd, 0x89, 0x3c, 0xbe,
    0x87, 0x53, 0x2d, 0x20, 0x7d, 0xab, 0x21, 0x5f, 0x2d, 0xfd, 0xa9, 0x53, 0x64, 0x9b, 0xaf, 0xb6,
];
/// The CRC-32 of the file, for `Model::verify`.
pub const CRC32: u32 = 0xc5f9bfb9;

/// `"fc1.bias"`: U8 `[4]`
pub const FC1_BIAS: Tensor = Tensor {
    index: 0,
    name: "fc1.bias",
    dtype: Dtype::U8,
    shape: &[4],
    elements: 4,
    bytes: 4,
    offset: 163,
    begin: 0,
};

/// `"fc1.weight"`: U8 `[2, 4]`
pub const FC1_WEIGHT: Tensor = Tensor {
    index: 1,
    name: "fc1.weight",
    dtype: Dtype::U8,
    shape: &[2, 4],
    elements: 8,
    bytes: 8,
    offset: 167,
    begin: 4,
};

/// All tensors, in data order.
pub const TENSORS: &[Tensor] = &[
    FC1_BIAS,
    FC1_WEIGHT,
];

/// What a program expects of the model, for `Model::open_with`: the queries of
/// `TENSORS`, in the same order.
pub const QUERIES: [Query<'static>; 2] = [
    FC1_BIAS.query(),
    FC1_WEIGHT.query(),
];

/// The keys and values of the metadata.
pub const METADATA: &[(&str, &str)] = &[
    ("format", "pt"),
];
