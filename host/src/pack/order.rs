//! In which order tensors stand in a new file.

use super::contents::Contents;
use crate::complaint::Complaint;
use crate::open::open_list;
use crate::text::quoted;
use embedded_safetensors::header::MAX_HEADER_LEN;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

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
                let text = read(path)?;
                let ranks = ranks(path, &text, contents)?;
                let rank = |name: &str| ranks.get(name).copied().unwrap_or(usize::MAX);
                contents.entries.sort_by_key(|entry| rank(&entry.name));
                Ok(())
            }
        }
    }
}

/// No list of names is longer: they stand in a header, too.
const LONGEST: u64 = MAX_HEADER_LEN;

fn read(path: &Path) -> Result<String, Complaint> {
    let list = open_list(path).map_err(|reason| Complaint::not_read(path, reason))?;
    let mut text = String::new();
    match list.take(LONGEST + 1).read_to_string(&mut text) {
        Ok(len) if len as u64 > LONGEST => {
            Err(Complaint::about(path, format!("is longer than {LONGEST} bytes, and no list of names is")))
        }
        Ok(_) => Ok(text),
        Err(error) => Err(Complaint::not_read(path, error)),
    }
}

/// Which line each name is on.
fn ranks<'t>(
    path: &Path,
    text: &'t str,
    contents: &Contents<'_>,
) -> Result<HashMap<&'t str, usize>, Complaint> {
    let known: HashSet<&str> = contents.entries.iter().map(|entry| entry.name.as_str()).collect();
    let mut ranks = HashMap::new();
    for name in text.lines().filter(|line| !line.is_empty()) {
        let rank = ranks.len();
        if !known.contains(name) {
            return Err(Complaint::about(path, format!("there is no tensor {}", quoted(name))));
        }
        if ranks.insert(name, rank).is_some() {
            return Err(Complaint::about(path, format!("it has {} twice", quoted(name))));
        }
    }
    Ok(ranks)
}
