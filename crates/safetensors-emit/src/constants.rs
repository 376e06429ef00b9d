//! Writes a model's layout as constants for firmware.

use crate::plan::Plan;
use embedded_safetensors::{FileModel, file::FileTensor};

/// The facts of a model that are written.
pub struct Listing<'m> {
    model: &'m FileModel,
    plan: Plan,
    /// The address of the file in memory.
    pub(crate) at: Option<u64>,
}

impl<'m> Listing<'m> {
    /// Collects the facts of a model.
    ///
    /// # Errors
    /// The model would extend past the end of the address space.
    pub fn of(model: &'m FileModel, at: Option<u64>) -> Result<Self, String> {
        let plan = Plan::of(model);
        if at.is_some_and(|at| at.checked_add(plan.file_bytes).is_none()) {
            return Err("the model would end past the last address".to_owned());
        }
        Ok(Self { model, plan, at })
    }

    /// The plan of the model.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The file name, with characters that are safe in a comment.
    pub(crate) fn file(&self) -> String {
        let file = self.model.path().file_name().unwrap_or_default().to_string_lossy();
        file.chars().map(comment_safe).collect()
    }

    /// The tensors, in data order.
    pub fn tensors(&self) -> impl Iterator<Item = FileTensor<'m>> {
        self.model.tensors()
    }

    /// The keys and values of the metadata.
    pub fn metadata(&self) -> impl Iterator<Item = (&'m String, &'m String)> {
        self.model.metadata().into_iter().flatten()
    }

    /// The offset of a tensor in the file.
    pub fn offset(&self, tensor: &FileTensor<'_>) -> u64 {
        self.plan.data_start + tensor.begin()
    }

    /// The address of a tensor in memory.
    pub fn address(&self, tensor: &FileTensor<'_>) -> Option<u64> {
        // Checked when the listing was made.
        self.at.map(|at| at + self.offset(tensor))
    }

    /// The numbers for the entire file: name, value and description. The first four may exceed the target's
    /// `usize`.
    pub(crate) fn numbers(&self) -> [(&'static str, u64, &'static str); 14] {
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
}

/// Replaces characters of a file name that could end a comment.
fn comment_safe(character: char) -> char {
    if character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_' | ' ') {
        character
    } else {
        '_'
    }
}
