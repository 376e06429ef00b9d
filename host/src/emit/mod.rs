//! What a model is, written down for the compiler of a device.

pub mod c;
pub mod names;
pub mod rust;

use crate::complaint::Complaint;
use crate::json::{Object, array, quoted};
use crate::model::{Model, Tensor};
use crate::plan::Plan;
use embedded_safetensors::Dtype;

/// All that is written down of a model.
pub struct Listing {
    /// The name of its file, in letters that no comment trips over.
    pub file: String,
    pub plan: Plan,
    pub tensors: Vec<Entry>,
    pub metadata: Vec<(String, String)>,
    /// Where in memory the file lies.
    pub at: Option<u64>,
}

/// One tensor, by the order of the data.
pub struct Entry {
    pub name: String,
    pub dtype: Dtype,
    pub dims: Vec<u64>,
    pub elements: u64,
    pub bytes: u64,
    /// Where it begins in the data.
    pub begin: u64,
    /// Where it begins in the file.
    pub offset: u64,
}

impl Listing {
    /// # Errors
    /// The model is in several files; a tensor would lie behind the end of memory.
    pub fn of(model: &Model, at: Option<u64>) -> Result<Self, Complaint> {
        let plan = Plan::of(model)?;
        if at.is_some_and(|at| at.checked_add(plan.file_bytes).is_none()) {
            return Err(Complaint::usage("--at: the model would end behind the last address there is"));
        }
        let file = model.path().file_name().unwrap_or_default().to_string_lossy();
        let metadata =
            model.metadata().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone()));
        Ok(Self {
            file: file.chars().map(harmless).collect(),
            tensors: model.tensors().map(|tensor| Entry::of(&tensor, plan.data_start)).collect(),
            metadata: metadata.collect(),
            plan,
            at,
        })
    }

    /// Where in memory a tensor lies.
    pub fn address(&self, entry: &Entry) -> Option<u64> {
        // Seen to fit when the listing was made.
        self.at.map(|at| at + entry.offset)
    }

    /// The numbers of the whole file: the name, the value, and what it is. Those of the first four may be more than memory holds.
    pub fn numbers(&self) -> [(&'static str, u64, &'static str); 14] {
        let Plan { sizes, largest_tensor, largest_row, .. } = &self.plan;
        [
            ("FILE_BYTES", self.plan.file_bytes, "The whole file"),
            ("HEADER_BYTES", self.plan.header_bytes, "Its header, without the 8 bytes before it"),
            ("DATA_START", self.plan.data_start, "Where in the file the data begin"),
            ("DATA_BYTES", self.plan.data_bytes, "All tensors together"),
            ("INDEX_TENSORS", sizes.tensors, "An index has so many tensors in it"),
            ("INDEX_DIMS", sizes.dims, "The dimensions of all tensors"),
            ("INDEX_NAME_BYTES", sizes.name_bytes, "The names of all tensors"),
            ("INDEX_BYTES", sizes.index_bytes(), "How much memory the index takes"),
            ("LONGEST_NAME", sizes.longest_name, "The longest name of a tensor"),
            ("MOST_DIMS", sizes.most_dims, "The most dimensions that a tensor has"),
            ("LARGEST_TENSOR_BYTES", largest_tensor.bytes, "A buffer for any tensor as it is in the file"),
            ("LARGEST_TENSOR_ELEMENTS", largest_tensor.elements, "A buffer for the values of any tensor"),
            (
                "LARGEST_ROW_BYTES",
                largest_row.bytes,
                "A buffer for any row, which has one index of the first axis",
            ),
            ("LARGEST_ROW_ELEMENTS", largest_row.elements, "A buffer for the values of any row"),
        ]
    }

    /// The same for programs.
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

/// Of the name of a file, what cannot end a comment.
fn harmless(character: char) -> char {
    if character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_' | ' ') {
        character
    } else {
        '_'
    }
}
