// Written by `safetensors emit` from model.safetensors. Offsets and sizes are in bytes.

/// A tensor of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its name.
    pub name: &'static str,
    /// Its dtype.
    pub dtype: &'static str,
    /// Its dimensions, outermost first.
    pub shape: &'static [usize],
    /// Its number of elements.
    pub elements: usize,
    /// Its length in bytes.
    pub bytes: usize,
    /// Its offset in the file.
    pub offset: u64,
    /// Its offset in the data.
    pub begin: u64,
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

/// "fc1.bias": U8 [4]
pub const FC1_BIAS: Tensor = Tensor {
    name: "fc1.bias",
    dtype: "U8",
    shape: &[4],
    elements: 4,
    bytes: 4,
    offset: 163,
    begin: 0,
};

/// "fc1.weight": U8 [2, 4]
pub const FC1_WEIGHT: Tensor = Tensor {
    name: "fc1.weight",
    dtype: "U8",
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

/// The keys and values of the metadata.
pub const METADATA: &[(&str, &str)] = &[
    ("format", "pt"),
];
