//! File formats by their suffix.

use crate::complaint::Complaint;
use std::path::Path;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Model,
    /// `.npy`
    Array,
    /// `.npz`
    Archive,
}

impl Kind {
    /// The format of an input: a model, unless it is a numpy file.
    pub fn of_input(path: &Path) -> Self {
        Self::of(path).unwrap_or(Self::Model)
    }

    /// # Errors
    /// The suffix is unknown.
    pub fn of_output(path: &Path) -> Result<Self, Complaint> {
        if path.as_os_str() == "-" {
            return Err(Complaint::usage(
                "an output file is needed, whose suffix sets the format; standard output is not supported",
            ));
        }
        Self::of(path).ok_or_else(|| {
            let sentence = "unknown suffix: .safetensors, .npy or .npz needed";
            Complaint::about(path, sentence)
        })
    }

    /// Rejects output names whose suffix belongs to another format.
    ///
    /// # Errors
    /// The name ends with .npy, .npz or .json, which indexes have.
    pub fn must_be_model(path: &Path) -> Result<(), Complaint> {
        let is_json = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("json"));
        match Self::of(path) {
            Some(Self::Array | Self::Archive) => Err(Complaint::about(
                path,
                "wrong suffix for a safetensors file; use `safetensors convert` to make .npy and .npz",
            )),
            _ if is_json => {
                Err(Complaint::about(path, "wrong suffix for a safetensors file: .json is for indexes"))
            }
            _ => Ok(()),
        }
    }

    /// Rejects names of HTML pages whose suffix belongs to another format.
    ///
    /// # Errors
    /// The name ends with .json or the suffix of a model or an array.
    pub fn must_be_page(path: &Path) -> Result<(), Complaint> {
        let is_json = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("json"));
        match is_json || Self::of_output(path).is_ok() {
            true => Err(Complaint::about(path, "wrong suffix for an HTML page; use .html")),
            false => Ok(()),
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
