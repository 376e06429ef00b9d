//! Writes a model's layout as constants for firmware.

pub mod c;
pub mod names;
pub mod rust;

use crate::complaint::Complaint;
use crate::json::{Object, array, quoted};
use crate::model::{Model, Tensor};
use crate::plan::Plan;
use embedded_safetensors::Dtype;

/// The facts of a model that are written.
pub struct Listing {
    /// The file name, with characters that are safe in a comment.
    pub file: String,
    pub plan: Plan,
    pub tensors: Vec<Entry>,
    pub metadata: Vec<(String, String)>,
    /// The address of the file in memory.
    pub at: Option<u64>,
}

/// One tensor, in data order.
pub struct Entry {
    pub name: String,
    pub dtype: Dtype,
    pub dims: Vec<u64>,
    pub elements: u64,
    pub bytes: u64,
    /// Its offset in the data.
    pub begin: u64,
    /// Its offset in the file.
    pub offset: u64,
}

impl Listing {
    /// # Errors
    /// The model is sharded, or would extend past the end of the address space.
    pub fn of(model: &Model, at: Option<u64>) -> Result<Self, Complaint> {
        let plan = Plan::of(model)?;
        if at.is_some_and(|at| at.checked_add(plan.file_bytes).is_none()) {
            return Err(Complaint::usage("--at: the model would end past the last address"));
        }
        let file = model.path().file_name().unwrap_or_default().to_string_lossy();
        let metadata =
            model.metadata().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone()));
        Ok(Self {
            file: file.chars().map(comment_safe).collect(),
            tensors: model.tensors().map(|tensor| Entry::of(&tensor, plan.data_start)).collect(),
            metadata: metadata.collect(),
            plan,
            at,
        })
    }

    /// The address of a tensor in memory.
    pub fn address(&self, entry: &Entry) -> Option<u64> {
        // Checked when the listing was made.
        self.at.map(|at| at + entry.offset)
    }

    /// The numbers for the entire file: name, value and description. The first four may exceed the target's
    /// `usize`.
    pub fn numbers(&self) -> [(&'static str, u64, &'static str); 14] {
        let Plan { sizes, largest_tensor, largest_row, .. } = &self.plan;
        [
            ("FILE_BYTES", self.plan.file_bytes, "Length of the file"),
            ("HEADER_BYTES", self.plan.header_bytes, "Length of the header, without the 8 bytes before it"),
            ("DATA_START", self.plan.data_start, "Offset of the data in the file"),
            ("DATA_BYTES", self.plan.data_bytes, "Length of the data"),
            ("INDEX_TENSORS", sizes.tensors, "Number of tensors"),
            ("INDEX_DIMS", sizes.dims, "Total number of dimensions, all tensors together"),
            ("INDEX_NAME_BYTES", sizes.name_bytes, "Total length of all names, in bytes"),
            ("INDEX_BYTES", sizes.index_bytes(), "Memory of the index"),
            ("LONGEST_NAME", sizes.longest_name, "Length of the longest name"),
            ("MOST_DIMS", sizes.most_dims, "Largest number of dimensions"),
            ("LARGEST_TENSOR_BYTES", largest_tensor.bytes, "Buffer size for the bytes of any tensor"),
            ("LARGEST_TENSOR_ELEMENTS", largest_tensor.elements, "Buffer size for the values of any tensor"),
            (
                "LARGEST_ROW_BYTES",
                largest_row.bytes,
                "Buffer size for the bytes of any row, one index of the first axis",
            ),
            ("LARGEST_ROW_ELEMENTS", largest_row.elements, "Buffer size for the values of any row"),
        ]
    }

    /// The listing as JSON.
    pub fn json(&self, file: &str) -> String {
        let tensors = array(self.tensors.iter().map(|entry| self.tensor_json(entry)));
        let metadata =
            self.metadata.iter().fold(Object::new(), |object, (key, value)| object.text(key, value));
        let object = Object::new().text("file", file).flag("ok", true);
        let object = match self.at {
            Some(at) => object.number("address", at),
            None => object,
        };
        object.raw("plan", &self.plan.json()).raw("tensors", &tensors).raw("metadata", &metadata.end()).end()
    }

    fn tensor_json(&self, entry: &Entry) -> String {
        let object = Object::new()
            .raw("name", &quoted(&entry.name))
            .text("dtype", entry.dtype.name())
            .raw("shape", &array(entry.dims.iter().map(u64::to_string)))
            .number("elements", entry.elements)
            .number("bytes", entry.bytes)
            .number("offset", entry.offset)
            .number("begin", entry.begin);
        match self.address(entry) {
            Some(address) => object.number("address", address).end(),
            None => object.end(),
        }
    }
}

impl Entry {
    fn of(tensor: &Tensor<'_>, data_start: u64) -> Self {
        Self {
            name: tensor.name().to_owned(),
            dtype: tensor.dtype(),
            dims: tensor.dims().to_vec(),
            elements: tensor.elements(),
            bytes: tensor.byte_len(),
            begin: tensor.begin(),
            offset: data_start + tensor.begin(),
        }
    }
}

/// Replaces characters of a file name that could end a comment.
fn comment_safe(character: char) -> char {
    if character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_' | ' ') {
        character
    } else {
        '_'
    }
}
