//! In which order tensors stand in a new file.

use super::contents::Contents;
use crate::complaint::Complaint;
use crate::text::quoted;
use std::collections::HashMap;
use std::path::PathBuf;

/// As it is asked for.
#[derive(Clone)]
pub enum Ordering {
    /// The reference's: by dtypes, then by names.
    Canonical,
    /// By names alone.
    Name,
    /// As in the files, one file after the other.
    File,
    /// As the lines of a text file name them, then the others as in the files.
    List(PathBuf),
}

impl std::str::FromStr for Ordering {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "canonical" => Self::Canonical,
            "name" => Self::Name,
            "file" => Self::File,
            list => Self::List(list.into()),
        })
    }
}

impl Ordering {
    pub fn is_canonical(&self) -> bool {
        matches!(self, Self::Canonical)
    }

    /// # Errors
    /// The list cannot be read, or names a tensor twice or one that is not there.
    pub fn apply(&self, contents: &mut Contents<'_>) -> Result<(), Complaint> {
        match self {
            Self::Canonical | Self::File => Ok(()),
            Self::Name => {
                contents.entries.sort_by(|one, other| one.name.cmp(&other.name));
                Ok(())
            }
            Self::List(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| Complaint::not_read(path, error))?;
                let mut ranks = HashMap::new();
                for name in text.lines().filter(|line| !line.is_empty()) {
                    if !contents.entries.iter().any(|entry| entry.name == name) {
                        return Err(Complaint::about(path, format!("there is no tensor {}", quoted(name))));
                    }
                    let rank = ranks.len();
                    if ranks.insert(name, rank).is_some() {
                        return Err(Complaint::about(path, format!("it has {} twice", quoted(name))));
                    }
                }
                contents
                    .entries
                    .sort_by_key(|entry| ranks.get(entry.name.as_str()).copied().unwrap_or(usize::MAX));
                Ok(())
            }
        }
    }
}
