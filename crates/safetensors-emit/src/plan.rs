//! The numbers and memory sizes that a device needs for a model.

use embedded_safetensors::{FileModel, file::FileTensor, index::IndexRecord};

/// Numbers for a device, known at build time.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The length of the file.
    pub file_bytes: u64,
    /// The length of the header, without the 8 bytes of its length.
    pub header_bytes: u64,
    /// The offset of the data in the file.
    pub data_start: u64,
    /// The length of the data.
    pub data_bytes: u64,
    /// The sizes that determine the memory for names and shapes.
    pub sizes: Sizes,
    /// The largest tensor.
    pub largest_tensor: Extent,
    /// The largest row: all elements with one index of axis 0; for a tensor without axes, all elements.
    pub largest_row: Extent,
}

/// The sizes that determine the memory for names and shapes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The first parameter of an `IndexStorage`: the number of tensors.
    pub tensors: u64,
    /// Its second parameter: the number of dimensions, all tensors together.
    pub dims: u64,
    /// Its third parameter: the length of all names together.
    pub name_bytes: u64,
    /// The length of the longest name.
    pub longest_name: u64,
    /// The largest number of dimensions.
    pub most_dims: u64,
}

impl Sizes {
    /// Adds a tensor with a name of this length and this rank.
    pub fn add(&mut self, name_bytes: u64, rank: u64) {
        self.tensors += 1;
        self.dims += rank;
        self.name_bytes += name_bytes;
        self.longest_name = self.longest_name.max(name_bytes);
        self.most_dims = self.most_dims.max(rank);
    }

    /// The size of the `IndexStorage`.
    pub fn index_bytes(&self) -> u64 {
        let records = self.tensors * size_of::<IndexRecord>() as u64;
        (records + self.dims * size_of::<u64>() as u64 + self.name_bytes).next_multiple_of(8)
    }
}

/// A size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// In bytes.
    pub bytes: u64,
    /// In elements.
    pub elements: u64,
}

impl Extent {
    fn max(self, other: Self) -> Self {
        Self { bytes: self.bytes.max(other.bytes), elements: self.elements.max(other.elements) }
    }
}

impl Plan {
    /// Plans a model.
    pub fn of(model: &FileModel) -> Self {
        let summary = model.index().summary();
        let mut plan = Self {
            file_bytes: summary.file_len(),
            header_bytes: summary.data_start - 8,
            data_start: summary.data_start,
            data_bytes: summary.data_len,
            ..Self::default()
        };
        model.tensors().for_each(|tensor| plan.add(&tensor));
        plan
    }

    fn add(&mut self, tensor: &FileTensor<'_>) {
        self.sizes.add(tensor.name().len() as u64, tensor.dims().len() as u64);
        let all = Extent { bytes: tensor.byte_len(), elements: tensor.elements() };
        self.largest_tensor = self.largest_tensor.max(all);
        self.largest_row = self.largest_row.max(row(tensor));
    }
}

fn row(tensor: &FileTensor<'_>) -> Extent {
    let rows = tensor.dims().first().copied().unwrap_or(1).max(1);
    let elements = tensor.elements() / rows;
    // A row of a valid tensor is no longer than the tensor, whose bits fit into 64.
    let bits = elements.saturating_mul(u64::from(tensor.dtype().bits()));
    Extent { bytes: bits.div_ceil(8), elements }
}
