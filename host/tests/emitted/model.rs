// Written by `safetensors emit` from model.safetensors. Offsets and sizes are in bytes.

/// A tensor of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its name.
    pub name: &'static str,
    /// Its dtype, as the format calls it.
    pub dtype: &'static str,
    /// Its dimensions, outermost first.
    pub shape: &'static [usize],
    /// How many elements it has.
    pub elements: usize,
    /// How long it is.
    pub bytes: usize,
    /// Where it begins in the file.
    pub offset: u64,
    /// Where it begins in the data.
    pub begin: u64,
}

/// The whole file.
pub const FILE_BYTES: u64 = 175;
/// Its header, without the 8 bytes before it.
pub const HEADER_BYTES: u64 = 155;
/// Where in the file the data begin.
pub const DATA_START: u64 = 163;
/// All tensors together.
pub const DATA_BYTES: u64 = 12;
/// `IndexStorage<INDEX_TENSORS, INDEX_DIMS, INDEX_NAME_BYTES>` holds an index.
pub const INDEX_TENSORS: usize = 2;
/// The dimensions of all tensors.
pub const INDEX_DIMS: usize = 3;
/// The names of all tensors.
pub const INDEX_NAME_BYTES: usize = 18;
/// How much memory the index takes.
pub const INDEX_BYTES: usize = 144;
/// The longest name of a tensor.
pub const LONGEST_NAME: usize = 10;
/// The most dimensions that a tensor has.
pub const MOST_DIMS: usize = 2;
/// A buffer for any tensor as it is in the file.
pub const LARGEST_TENSOR_BYTES: usize = 8;
/// A buffer for the values of any tensor.
pub const LARGEST_TENSOR_ELEMENTS: usize = 8;
/// A buffer for any row, which has one index of the first axis.
pub const LARGEST_ROW_BYTES: usize = 4;
/// A buffer for the values of any row.
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

/// All tensors, in the order of the data.
pub const TENSORS: &[Tensor] = &[
    FC1_BIAS,
    FC1_WEIGHT,
];

/// The keys and values of the metadata.
pub const METADATA: &[(&str, &str)] = &[
    ("format", "pt"),
];
