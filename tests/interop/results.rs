//! The values that files contain, and the results of the frameworks.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;

use super::folder;

/// The directories of the frameworks, and their names.
pub const FRAMEWORKS: [(&str, &str); 11] = [
    ("numpy", "numpy"),
    ("torch", "torch"),
    ("tensorflow", "TensorFlow, Keras"),
    ("jax", "JAX, Flax"),
    ("mlx", "MLX"),
    ("paddle", "PaddlePaddle"),
    ("huggingface_hub", "huggingface_hub"),
    ("safestructures", "safestructures"),
    ("candle", "candle"),
    ("burn", "burn"),
    ("aprender", "aprender"),
];

/// An array: of a dtype of the format in `values.json`, of one of the framework in its results.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Array {
    pub dtype: String,
    pub shape: Vec<u64>,
    /// In hexadecimal digits.
    pub bytes: String,
}

impl Array {
    /// Returns its bytes.
    pub fn data(&self) -> Vec<u8> {
        let digits = self.bytes.as_bytes().chunks(2);
        let byte = |pair| u8::from_str_radix(str::from_utf8(pair).expect("ASCII"), 16).expect("two digits");
        digits.map(byte).collect()
    }
}

/// What a framework did with an array.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// It had this in memory.
    Array(Array),
    /// It reported this.
    Error { error: String },
}

/// The results of a framework: of its own arrays in its own file, and of the arrays of our files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    pub versions: BTreeMap<String, String>,
    pub written: BTreeMap<String, Outcome>,
    pub read: BTreeMap<String, Outcome>,
    /// Whether it reads `F32` from the file with all arrays, of which it lacks some dtypes.
    pub reads_all: bool,
}

impl Results {
    /// Reads the committed results.
    pub fn of(framework: &str) -> Self {
        let path = folder().join(framework).join("results.json");
        let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns the arrays that it has written.
    pub fn arrays(&self) -> impl Iterator<Item = (&str, &Array)> {
        self.written.iter().filter_map(|(name, outcome)| match outcome {
            Outcome::Array(array) => Some((name.as_str(), array)),
            Outcome::Error { .. } => None,
        })
    }
}

/// Returns the arrays that are written, by name.
pub fn values() -> BTreeMap<String, Array> {
    let text = fs::read(folder().join("values.json")).expect("a file");
    serde_json::from_slice(&text).expect("arrays by name")
}

/// Returns the names of the arrays: those of the dtypes in their order, and the others.
pub fn names() -> Vec<String> {
    let dtypes = embedded_safetensors::Dtype::ALL.iter().map(ToString::to_string);
    dtypes.chain(["scalar", "empty"].map(str::to_owned)).collect()
}
