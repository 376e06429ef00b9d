//! File formats by their suffix.

use crate::error::Error;
use std::ffi::OsStr;
use std::path::Path;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Model,
    /// `.npy`
    Array,
    /// `.npz`
    Archive,
    Gguf,
}

impl Kind {
    /// # Errors
    /// The suffix is unknown.
    pub fn of_output(path: &Path) -> Result<Self, Error> {
        if path.as_os_str() == "-" {
            return Err(Error::usage(
                "an output file is needed, whose suffix sets the format; standard output is not supported",
            ));
        }
        Self::of_name(path).ok_or_else(|| {
            let sentence = "unknown suffix: .safetensors, .npy, .npz or .gguf needed";
            Error::about(path, sentence)
        })
    }

    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "safetensors",
            Self::Array | Self::Archive => "numpy",
            Self::Gguf => "GGUF",
        }
    }

    pub fn is_numpy(self) -> bool {
        matches!(self, Self::Array | Self::Archive)
    }

    /// Rejects output names whose suffix belongs to another format.
    ///
    /// # Errors
    /// The name ends with .npy, .npz, .gguf or .json, which indexes have.
    pub fn must_be_model(path: &Path) -> Result<(), Error> {
        let needed = match Self::of_name(path) {
            Some(Self::Array | Self::Archive | Self::Gguf) => {
                "; use `safetensors convert` to make .npy, .npz and .gguf"
            }
            _ if path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("json")) => {
                ": .json is for indexes"
            }
            _ => return Ok(()),
        };
        Err(Error::about(path, format!("wrong suffix for a safetensors file{needed}")))
    }

    /// # Errors
    /// The name of an HTML page ends with another suffix than .html or .htm.
    pub fn must_be_page(path: &Path) -> Result<(), Error> {
        let is_page = |suffix: &OsStr| ["html", "htm"].iter().any(|page| suffix.eq_ignore_ascii_case(page));
        let error = || Error::about(path, "wrong suffix for an HTML page; use .html");
        path.extension().is_none_or(is_page).then_some(()).ok_or_else(error)
    }

    /// The format of this suffix, if there is one.
    fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "safetensors" => Some(Self::Model),
            "npy" => Some(Self::Array),
            "npz" => Some(Self::Archive),
            "gguf" => Some(Self::Gguf),
            _ => None,
        }
    }
}
