//! The table that a reader reports of a file that it accepts, in a form that can be compared.

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
    /// Sorts the tensors for comparison.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.tensors.sort();
        self
    }
}
