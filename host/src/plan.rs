//! The numbers and memory sizes that a device needs for a model.

use crate::complaint::Complaint;
use crate::json::Object;
use crate::model::{Model, Tensor};
use embedded_safetensors::{FileModel, index::IndexRecord};

/// Numbers for a device, known at build time.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub file_bytes: u64,
    /// Without the 8 bytes of its length.
    pub header_bytes: u64,
    /// The offset of the data in the file.
    pub data_start: u64,
    pub data_bytes: u64,
    pub sizes: Sizes,
    pub largest_tensor: Extent,
    /// All elements with one index of axis 0; for a tensor without axes, all elements.
    pub largest_row: Extent,
}

/// The sizes that determine the memory for names and shapes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The parameters of an `IndexStorage`.
    pub tensors: u64,
    pub dims: u64,
    pub name_bytes: u64,
    pub longest_name: u64,
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

    /// The sizes as JSON.
    pub fn members(&self, object: Object) -> Object {
        let index = Object::new().number("tensors", self.tensors).number("dims", self.dims);
        let index = index.number("name_bytes", self.name_bytes).number("bytes", self.index_bytes());
        let object = object.raw("index", &index.end());
        object.number("longest_name", self.longest_name).number("most_dims", self.most_dims)
    }
}

/// A size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    pub bytes: u64,
    pub elements: u64,
}

impl Extent {
    fn max(self, other: Self) -> Self {
        Self { bytes: self.bytes.max(other.bytes), elements: self.elements.max(other.elements) }
    }
}

impl Plan {
    /// Plans a model in one file.
    ///
    /// # Errors
    /// The model is sharded.
    pub fn of(model: &Model) -> Result<Self, Complaint> {
        let summary = one_file(model)?.index().summary();
        let mut plan = Self {
            file_bytes: summary.file_len(),
            header_bytes: summary.data_start - 8,
            data_start: summary.data_start,
            data_bytes: summary.data_len,
            ..Self::default()
        };
        model.tensors().for_each(|tensor| plan.add(&tensor));
        Ok(plan)
    }

    fn add(&mut self, tensor: &Tensor<'_>) {
        self.sizes.add(tensor.name().len() as u64, tensor.dims().len() as u64);
        let all = Extent { bytes: tensor.byte_len(), elements: tensor.elements() };
        self.largest_tensor = self.largest_tensor.max(all);
        self.largest_row = self.largest_row.max(row(tensor));
    }

    /// The plan as JSON.
    pub fn json(&self) -> String {
        let extent = |extent: Extent| {
            Object::new().number("bytes", extent.bytes).number("elements", extent.elements).end()
        };
        let object = Object::new()
            .number("file_bytes", self.file_bytes)
            .number("header_bytes", self.header_bytes)
            .number("data_start", self.data_start)
            .number("data_bytes", self.data_bytes);
        self.sizes
            .members(object)
            .raw("largest_tensor", &extent(self.largest_tensor))
            .raw("largest_row", &extent(self.largest_row))
            .end()
    }
}

/// The file of a single-file model.
///
/// # Errors
/// The model is sharded.
pub fn one_file(model: &Model) -> Result<&FileModel, Complaint> {
    match model.parts() {
        [part] => Ok(part),
        parts => {
            let sentence =
                format!("is in {} files, but a device needs one; use `safetensors join`", parts.len());
            Err(Complaint::about(model.path(), sentence))
        }
    }
}

fn row(tensor: &Tensor<'_>) -> Extent {
    let rows = tensor.dims().first().copied().unwrap_or(1).max(1);
    let elements = tensor.elements() / rows;
    // A row of a valid tensor is no longer than the tensor, whose bits fit into 64.
    let bits = elements.saturating_mul(u64::from(tensor.dtype().bits()));
    Extent { bytes: bits.div_ceil(8), elements }
}
