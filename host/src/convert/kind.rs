//! What a file is by its name.

use crate::complaint::Complaint;
use std::path::Path;

/// A form that tensors are stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Model,
    /// `.npy`
    Array,
    /// `.npz`
    Archive,
}

impl Kind {
    /// What is to be read: whatever is no array of numpy is a model.
    pub fn of_input(path: &Path) -> Self {
        Self::of(path).unwrap_or(Self::Model)
    }

    /// # Errors
    /// The name does not tell what is to be written.
    pub fn of_output(path: &Path) -> Result<Self, Complaint> {
        Self::of(path).ok_or_else(|| {
            let sentence = "what it is to be is told by its name, which ends with .safetensors, .npy or .npz";
            Complaint::about(path, sentence)
        })
    }

    /// Refuses names for a model that say that a file is something else.
    ///
    /// # Errors
    /// It ends with .npy, .npz or .json, as indexes do.
    pub fn must_be_model(path: &Path) -> Result<(), Complaint> {
        let is_json = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("json"));
        match Self::of(path) {
            Some(Self::Array | Self::Archive) => {
                Err(Complaint::about(path, "would be a safetensors file; `convert` makes .npy and .npz"))
            }
            _ if is_json => Err(Complaint::about(path, "would be a safetensors file, and no JSON")),
            _ => Ok(()),
        }
    }

    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "safetensors" => Some(Self::Model),
            "npy" => Some(Self::Array),
            "npz" => Some(Self::Archive),
            _ => None,
        }
    }
}
