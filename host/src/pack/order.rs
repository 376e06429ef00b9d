//! The order of tensors in a new file.

use super::contents::Contents;
use crate::error::Error;
use crate::input::open::open_list;
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

impl Ordering {
    /// The words that are no paths.
    const WORDS: [&str; 3] = ["canonical", "name", "file"];

    /// One of the words, or the path of a list.
    pub fn of(text: &Path) -> Self {
        match text.to_str() {
            Some("canonical") => Self::Canonical,
            Some("name") => Self::Name,
            Some("file") => Self::File,
            _ => Self::List(text.into()),
        }
    }

    pub fn is_canonical(&self) -> bool {
        matches!(self, Self::Canonical)
    }

    /// # Errors
    /// The list cannot be read, has a duplicate, or names a tensor that does not exist.
    pub fn apply(&self, contents: &mut Contents<'_>) -> Result<(), Error> {
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

fn read(path: &Path) -> Result<String, Error> {
    let name = path.to_str().unwrap_or("");
    // Not a path in a directory, and so probably one of the words.
    if !name.contains(['/', '\\', '.']) && !path.exists() {
        let hint = did_you_mean(name, Ordering::WORDS);
        let sentence = format!("neither one of {} nor a file with names{hint}", Ordering::WORDS.join(", "));
        return Err(Error::about(path, sentence));
    }
    let list = open_list(path).map_err(|reason| Error::not_read(path, reason))?;
    let mut text = String::new();
    match list.take(LONGEST + 1).read_to_string(&mut text) {
        Ok(len) if len as u64 > LONGEST => {
            Err(Error::about(path, format!("too long for a list of names: more than {LONGEST} bytes")))
        }
        Ok(_) => Ok(text),
        Err(error) => Err(Error::not_read(path, error)),
    }
}

/// The line number of each name.
fn ranks<'t>(path: &Path, text: &'t str, contents: &Contents<'_>) -> Result<HashMap<&'t str, usize>, Error> {
    let known: HashSet<&str> = contents.names().collect();
    let mut ranks = HashMap::new();
    for name in text.lines().filter(|line| !line.is_empty()) {
        let rank = ranks.len();
        if !known.contains(name) {
            let hint = did_you_mean(name, contents.names());
            let sentence = format!("lists {}, but there is no such tensor{hint}", quoted(name));
            return Err(Error::about(path, sentence));
        }
        if ranks.insert(name, rank).is_some() {
            return Err(Error::about(path, format!("lists {} more than once", quoted(name))));
        }
    }
    Ok(ranks)
}
