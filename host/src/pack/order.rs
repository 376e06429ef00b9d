//! The order of tensors in a new file.

use super::contents::Contents;
use crate::complaint::Complaint;
use crate::open::open_list;
use crate::text::{did_you_mean, quoted};
use embedded_safetensors::header::MAX_HEADER_LEN;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The requested order.
#[derive(Clone)]
pub enum Ordering {
    /// The order of the reference: by dtype, then by name.
    Canonical,
    /// By name.
    Name,
    /// Unchanged, one file after another.
    File,
    /// As listed in a text file, one name per line; then the others unchanged.
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
    /// The list cannot be read, has a duplicate, or names a tensor that does not exist.
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

/// Lists cannot be longer than a header with the same names.
const LONGEST: u64 = MAX_HEADER_LEN;

fn read(path: &Path) -> Result<String, Complaint> {
    let list = open_list(path).map_err(|reason| Complaint::not_read(path, reason))?;
    let mut text = String::new();
    match list.take(LONGEST + 1).read_to_string(&mut text) {
        Ok(len) if len as u64 > LONGEST => {
            Err(Complaint::about(path, format!("too long for a list of names: more than {LONGEST} bytes")))
        }
        Ok(_) => Ok(text),
        Err(error) => Err(Complaint::not_read(path, error)),
    }
}

/// The line number of each name.
fn ranks<'t>(
    path: &Path,
    text: &'t str,
    contents: &Contents<'_>,
) -> Result<HashMap<&'t str, usize>, Complaint> {
    let known: HashSet<&str> = contents.names().collect();
    let mut ranks = HashMap::new();
    for name in text.lines().filter(|line| !line.is_empty()) {
        let rank = ranks.len();
        if !known.contains(name) {
            let hint = did_you_mean(name, contents.names());
            let sentence = format!("lists {}, but there is no such tensor{hint}", quoted(name));
            return Err(Complaint::about(path, sentence));
        }
        if ranks.insert(name, rank).is_some() {
            return Err(Complaint::about(path, format!("lists {} more than once", quoted(name))));
        }
    }
    Ok(ranks)
}
