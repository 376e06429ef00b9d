// Written by safetensors-emit from 2-model.st. It needs the crate embedded-safetensors.

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
    /// Its address in memory.
    pub address: usize,
}

impl Tensor {
    /// Returns the query that finds it, and rejects another dtype or shape.
    pub const fn query(&self) -> Query<'static> {
        Query::required(self.name).dtype(self.dtype).shape(self.shape)
    }
}

/// The address of the file in memory.
pub const ADDRESS: usize = 0x08060000;
/// Length of the file.
pub const FILE_BYTES: u64 = 1216;
/// Length of the header, without the 8 bytes before it.
pub const HEADER_BYTES: u64 = 1130;
/// Offset of the data in the file.
pub const DATA_START: u64 = 1138;
/// Length of the data.
pub const DATA_BYTES: u64 = 78;
/// `IndexStorage<INDEX_TENSORS, INDEX_DIMS, INDEX_NAME_BYTES>` holds the index.
pub const INDEX_TENSORS: usize = 17;
/// Total number of dimensions, all tensors together.
pub const INDEX_DIMS: usize = 30;
/// Total length of all names, in bytes.
pub const INDEX_NAME_BYTES: usize = 98;
/// Memory of the index.
pub const INDEX_BYTES: usize = 1160;
/// Length of the longest name.
pub const LONGEST_NAME: usize = 16;
/// Largest number of dimensions.
pub const MOST_DIMS: usize = 9;
/// Buffer size for the bytes of any tensor.
pub const LARGEST_TENSOR_BYTES: usize = 24;
/// Buffer size for the values of any tensor.
pub const LARGEST_TENSOR_ELEMENTS: usize = 8;
/// Buffer size for the bytes of any row, one index of the first axis.
pub const LARGEST_ROW_BYTES: usize = 12;
/// Buffer size for the values of any row.
pub const LARGEST_ROW_ELEMENTS: usize = 4;
/// The SHA-256 of the file, for `Model::verify`.
pub const SHA256: [u8; 32] = [
    0x2d, 0x0a, 0x91, 0x34, 0xdf, 0x90, 0x01, 0x5b, 0x3c, 0x02, 0x0d, 0x7e, 0x7f, 0xe6, 0xad, 0x83,
    0x2f, 0x6f, 0x48, 0xfd, 0xf3, 0xd7, 0x51, 0x9d, 0x9e, 0x8a, 0x26, 0xe6, 0x57, 0xfb, 0x21, 0xce,
];
/// The CRC-32 of the file, for `Model::verify`.
pub const CRC32: u32 = 0xcc75a649;

/// `"fc1.weight"`: F32 `[2, 3]`
pub const FC1_WEIGHT: Tensor = Tensor {
    index: 0,
    name: "fc1.weight",
    dtype: Dtype::F32,
    shape: &[2, 3],
    elements: 6,
    bytes: 24,
    offset: 1138,
    begin: 0,
    address: 0x08060472,
};

/// `"FC1_WEIGHT"`: I8 `[4]`
pub const FC1_WEIGHT_2: Tensor = Tensor {
    index: 1,
    name: "FC1_WEIGHT",
    dtype: Dtype::I8,
    shape: &[4],
    elements: 4,
    bytes: 4,
    offset: 1162,
    begin: 24,
    address: 0x0806048a,
};

/// `"fc1.weight.bytes"`: F64 `[1, 1]`
pub const FC1_WEIGHT_BYTES: Tensor = Tensor {
    index: 2,
    name: "fc1.weight.bytes",
    dtype: Dtype::F64,
    shape: &[1, 1],
    elements: 1,
    bytes: 8,
    offset: 1166,
    begin: 28,
    address: 0x0806048e,
};

/// `"int"`: F16 `[]`
pub const INT: Tensor = Tensor {
    index: 3,
    name: "int",
    dtype: Dtype::F16,
    shape: &[],
    elements: 1,
    bytes: 2,
    offset: 1174,
    begin: 36,
    address: 0x08060496,
};

/// `"0"`: BF16 `[1]`
pub const T_0: Tensor = Tensor {
    index: 4,
    name: "0",
    dtype: Dtype::BF16,
    shape: &[1],
    elements: 1,
    bytes: 2,
    offset: 1176,
    begin: 38,
    address: 0x08060498,
};

/// `"层"`: U8 `[2]`
pub const TENSOR: Tensor = Tensor {
    index: 5,
    name: "\u{5c42}",
    dtype: Dtype::U8,
    shape: &[2],
    elements: 2,
    bytes: 2,
    offset: 1178,
    begin: 40,
    address: 0x0806049a,
};

/// `"重"`: BOOL `[3]`
pub const TENSOR_2: Tensor = Tensor {
    index: 6,
    name: "\u{91cd}",
    dtype: Dtype::BOOL,
    shape: &[3],
    elements: 3,
    bytes: 3,
    offset: 1180,
    begin: 42,
    address: 0x0806049c,
};

/// `"a\"b\\c\n*/??/ \u{202e}\0"`: U8 `[1]`
pub const A_B_C: Tensor = Tensor {
    index: 7,
    name: "a\"b\\c\n*/??/ \u{202e}\u{0}",
    dtype: Dtype::U8,
    shape: &[1],
    elements: 1,
    bytes: 1,
    offset: 1183,
    begin: 45,
    address: 0x0806049f,
};

/// `""`: I64 `[1]`
pub const TENSOR_3: Tensor = Tensor {
    index: 8,
    name: "",
    dtype: Dtype::I64,
    shape: &[1],
    elements: 1,
    bytes: 8,
    offset: 1184,
    begin: 46,
    address: 0x080604a0,
};

/// `"file"`: U16 `[1, 1, 2]`
pub const FILE: Tensor = Tensor {
    index: 9,
    name: "file",
    dtype: Dtype::U16,
    shape: &[1, 1, 2],
    elements: 2,
    bytes: 4,
    offset: 1192,
    begin: 54,
    address: 0x080604a8,
};

/// `"h"`: U32 `[1]`
pub const H: Tensor = Tensor {
    index: 10,
    name: "h",
    dtype: Dtype::U32,
    shape: &[1],
    elements: 1,
    bytes: 4,
    offset: 1196,
    begin: 58,
    address: 0x080604ac,
};

/// `"tensors"`: I16 `[1]`
pub const TENSORS_2: Tensor = Tensor {
    index: 11,
    name: "tensors",
    dtype: Dtype::I16,
    shape: &[1],
    elements: 1,
    bytes: 2,
    offset: 1200,
    begin: 62,
    address: 0x080604b0,
};

/// `"packed"`: F4 `[2, 4]`
pub const PACKED: Tensor = Tensor {
    index: 12,
    name: "packed",
    dtype: Dtype::F4,
    shape: &[2, 4],
    elements: 8,
    bytes: 4,
    offset: 1202,
    begin: 64,
    address: 0x080604b2,
};

/// `"pair"`: C64 `[1]`
pub const PAIR: Tensor = Tensor {
    index: 13,
    name: "pair",
    dtype: Dtype::C64,
    shape: &[1],
    elements: 1,
    bytes: 8,
    offset: 1206,
    begin: 68,
    address: 0x080604b6,
};

// "deep": U8 with 9 dimensions is left out: a query has at most 8.

/// `"sha256"`: I8 `[1]`
pub const SHA256_2: Tensor = Tensor {
    index: 14,
    name: "sha256",
    dtype: Dtype::I8,
    shape: &[1],
    elements: 1,
    bytes: 1,
    offset: 1215,
    begin: 77,
    address: 0x080604bf,
};

/// `"none"`: F32 `[0, 18446744073709551615]`
pub const NONE: Tensor = Tensor {
    index: 15,
    name: "none",
    dtype: Dtype::F32,
    shape: &[0, 18446744073709551615],
    elements: 0,
    bytes: 0,
    offset: 1216,
    begin: 78,
    address: 0x080604c0,
};

/// All tensors but 1 of more than 8 dimensions, in data order.
pub const TENSORS: &[Tensor] = &[
    FC1_WEIGHT,
    FC1_WEIGHT_2,
    FC1_WEIGHT_BYTES,
    INT,
    T_0,
    TENSOR,
    TENSOR_2,
    A_B_C,
    TENSOR_3,
    FILE,
    H,
    TENSORS_2,
    PACKED,
    PAIR,
    SHA256_2,
    NONE,
];

/// What a program expects of the model, for `Model::open_with`: the queries of
/// `TENSORS`, in the same order.
pub const QUERIES: [Query<'static>; 16] = [
    FC1_WEIGHT.query(),
    FC1_WEIGHT_2.query(),
    FC1_WEIGHT_BYTES.query(),
    INT.query(),
    T_0.query(),
    TENSOR.query(),
    TENSOR_2.query(),
    A_B_C.query(),
    TENSOR_3.query(),
    FILE.query(),
    H.query(),
    TENSORS_2.query(),
    PACKED.query(),
    PAIR.query(),
    SHA256_2.query(),
    NONE.query(),
];

/// The keys and values of the metadata.
pub const METADATA: &[(&str, &str)] = &[
    ("empty", ""),
    ("note", "*/ ??/ \"q\"\\\nline \u{202e}\u{e9}"),
];
