//! The order of tensors in a new file.

use super::contents::Contents;
use crate::error::Error;
use crate::input::open::open_list;
use crate::text::{did_you_mean, quoted};
use embedded_safetensors::header::MAX_HEADER_LEN;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::Path;

/// The order of the reference: by dtype, then by name.
pub const CANONICAL: &str = "canonical";

/// The orders that are no paths of lists.
const WORDS: [&str; 3] = [CANONICAL, "name", "file"];

/// Orders the tensors by name; not at all for `canonical` and `file`; otherwise as a text file at this path
/// lists them, one name per line, followed by all others.
///
/// # Errors
/// The list cannot be read, has a duplicate, or names a tensor that does not exist.
pub fn apply(order: &Path, contents: &mut Contents<'_>) -> Result<(), Error> {
    match order.to_str() {
        Some(CANONICAL | "file") => {}
        Some("name") => contents.entries.sort_by(|one, other| one.name.cmp(&other.name)),
        _ => {
            let text = read(order)?;
            let ranks = ranks(&text, contents).map_err(|sentence| Error::about(order, sentence))?;
            contents.entries.sort_by_key(|entry| ranks.get(&*entry.name).copied().unwrap_or(usize::MAX));
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, Error> {
    let name = path.to_str().unwrap_or("");
    // Not a path in a directory, and so probably one of the words.
    if !name.contains(['/', '\\', '.']) && !path.exists() {
        let hint = did_you_mean(name, WORDS);
        let sentence = format!("neither one of {} nor a file with names{hint}", WORDS.join(", "));
        return Err(Error::about(path, sentence));
    }
    let list = open_list(path).map_err(|reason| Error::not_read(path, reason))?;
    let mut text = String::new();
    // A header with the same names would not be longer.
    match list.take(MAX_HEADER_LEN + 1).read_to_string(&mut text) {
        Ok(len) if len as u64 > MAX_HEADER_LEN => {
            Err(Error::about(path, format!("too long for a list of names: more than {MAX_HEADER_LEN} bytes")))
        }
        Ok(_) => Ok(text),
        Err(error) => Err(Error::not_read(path, error)),
    }
}

/// The line number of each name.
fn ranks<'t>(text: &'t str, contents: &Contents<'_>) -> Result<HashMap<&'t str, usize>, String> {
    let known: HashSet<&str> = contents.names().collect();
    let mut ranks = HashMap::new();
    for (rank, name) in text.lines().filter(|line| !line.is_empty()).enumerate() {
        if !known.contains(name) {
            let hint = did_you_mean(name, contents.names());
            return Err(format!("lists {}, but there is no such tensor{hint}", quoted(name)));
        }
        if ranks.insert(name, rank).is_some() {
            return Err(format!("lists {} more than once", quoted(name)));
        }
    }
    Ok(ranks)
}
