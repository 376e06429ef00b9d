//! Memory for an index, on the heap.

use embedded_safetensors::index::{IndexMemory, IndexRecord, IndexSize};

/// Memory of any size.
pub struct Memory {
    records: Vec<IndexRecord>,
    dims: Vec<u64>,
    names: Vec<u8>,
}

impl Memory {
    /// Allocates memory of this size.
    pub fn of(size: IndexSize) -> Self {
        let IndexSize { tensors, dims, name_bytes } = size;
        Self { records: vec![IndexRecord::EMPTY; tensors], dims: vec![0; dims], names: vec![0; name_bytes] }
    }

    /// Allocates enough for any file of this length, and for the longest vectors: an entry of a tensor has at
    /// least 40 bytes, a dimension at least two.
    pub fn ample(file: &[u8]) -> Self {
        let tensors = (file.len() / 40).min(150_000);
        Self::of(IndexSize { tensors, dims: (file.len() / 2).min(1_100_000), name_bytes: file.len() })
    }

    /// Lends all of it.
    pub fn lend(&mut self) -> IndexMemory<'_> {
        IndexMemory::new(&mut self.records, &mut self.dims, &mut self.names)
    }
}
