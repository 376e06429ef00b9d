//! The description of a file to write: tensors of six dtypes, and keys, in no particular order.

use embedded_safetensors::{
    Dtype,
    write::{FileSpec, TensorSpec},
};

/// One dtype of each width, lowest rank first. The list is fixed so that measurements stay comparable when
/// dtypes are added.
const DTYPES: [Dtype; 6] = [Dtype::F4, Dtype::F6_E2M3, Dtype::U8, Dtype::F16, Dtype::F32, Dtype::F64];

pub const TENSORS: usize = 44;
pub const KEYS: usize = 50;

/// Returns names of a letter and two digits, so that names sort like their numbers.
const fn names<const N: usize>(letter: u8) -> [[u8; 3]; N] {
    let mut names = [[letter, 0, 0]; N];
    let mut index = 0;
    while index < N {
        let number = scattered(index, N) as u8;
        names[index] = [letter, b'0' + number / 10, b'0' + number % 10];
        index += 1;
    }
    names
}

/// Permutes the numbers below `count`, which must not be divisible by 7.
const fn scattered(index: usize, count: usize) -> usize {
    (index * 7 + 3) % count
}

static NAMES: [[u8; 3]; TENSORS] = names(b't');
static KEY_NAMES: [[u8; 3]; KEYS] = names(b'k');

/// Each has eight times the tensor's number of elements, so that elements of any width fill bytes.
static DIMS: [[u64; 2]; TENSORS] = {
    let mut dims = [[8, 0]; TENSORS];
    let mut index = 0;
    while index < TENSORS {
        dims[index][1] = scattered(index, TENSORS) as u64;
        index += 1;
    }
    dims
};

static SPECS: [TensorSpec<'static>; TENSORS] = {
    let mut specs = [TensorSpec::new("", Dtype::U8, &[]); TENSORS];
    let mut index = 0;
    while index < TENSORS {
        let dtype = DTYPES[scattered(index, TENSORS) * 5 % DTYPES.len()];
        specs[index] = TensorSpec::new(text(&NAMES[index]), dtype, &DIMS[index]);
        index += 1;
    }
    specs
};

static PAIRS: [(&str, &str); KEYS] = {
    let mut pairs = [("", "\n\u{1}é\"\\"); KEYS];
    let mut index = 0;
    while index < KEYS {
        pairs[index].0 = text(&KEY_NAMES[index]);
        index += 1;
    }
    pairs
};

const fn text(name: &'static [u8]) -> &'static str {
    match core::str::from_utf8(name) {
        Ok(text) => text,
        Err(_) => panic!("ASCII"),
    }
}

/// Returns the entire description.
pub fn description() -> FileSpec<'static> {
    FileSpec::new(core::hint::black_box(&SPECS)).with_metadata(core::hint::black_box(&PAIRS))
}
