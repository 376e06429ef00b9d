//! The table that a reader reports of a file that it accepts, in a form that can be compared.

use crate::manifest::{TensorRow, sha256};
use serde_json::{Map, Value, from_value};
use std::collections::BTreeMap;

/// The tensors and the metadata of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The tensors, ordered by their offsets, then by their names.
    pub tensors: Vec<Tensor>,
    /// The pairs of `__metadata__`, if it is there and not null.
    pub metadata: Option<BTreeMap<String, String>>,
}

/// One tensor of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tensor {
    /// Begin and end, relative to the start of the data.
    pub data_offsets: [u64; 2],
    /// Its name.
    pub name: String,
    /// Its dtype, as in the header.
    pub dtype: String,
    /// Its shape.
    pub shape: Vec<u64>,
}

impl Table {
    /// Returns the table in the header of a valid file. Nothing in it is checked: a recipe's header is known.
    pub fn of_header(file: &[u8]) -> Option<Self> {
        let (length, rest) = file.split_first_chunk()?;
        let header = rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        let mut members: Map<String, Value> = serde_json::from_slice(header).ok()?;
        let metadata = members.remove("__metadata__").unwrap_or_default();
        let tensors = members.into_iter().map(|(name, entry)| Tensor::of_entry(name, &entry));
        let table = Self { tensors: tensors.collect::<Option<_>>()?, metadata: from_value(metadata).ok()? };
        Some(table.sorted())
    }

    /// Sorts the tensors for comparison.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.tensors.sort();
        self
    }
}

impl Tensor {
    /// Returns this tensor of a recipe as the manifest lists those of files.
    pub(crate) fn row(self, file: &[u8]) -> TensorRow {
        let length = file.first_chunk().map_or(0, |length| u64::from_le_bytes(*length));
        let [begin, end] = self.data_offsets.map(|at| usize::try_from(8 + length + at).unwrap_or(usize::MAX));
        let sha256 = sha256(file.get(begin..end).unwrap_or_default());
        let Self { data_offsets, name, dtype, shape } = self;
        TensorRow { name, dtype, shape, data_offsets, sha256 }
    }

    fn of_entry(name: String, entry: &Value) -> Option<Self> {
        let member = |key: &str| from_value(entry.get(key)?.clone()).ok();
        let [shape, data_offsets] = [member("shape")?, member("data_offsets")?];
        let data_offsets = <[u64; 2]>::try_from(data_offsets).ok()?;
        Some(Self { name, dtype: entry.get("dtype")?.as_str()?.to_owned(), shape, data_offsets })
    }
}
