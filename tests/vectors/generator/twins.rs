//! Twins: for each invalid vector a valid one that is the same but for the fault.
//!
//! The twin is the closest valid vector, of those that need the same of a reader, unless the case names
//! another. Two files are close if they differ in the length alone, in the amount of data alone, or in one
//! span of a few bytes.

use crate::build::{Vector, data_at};
use vectors::Verdict;
use vectors::twins::{are_close, only_needed_for, spans};

/// The distance of other data, in bytes.
const OTHER_DATA: usize = 60;

/// A longer file has no twin but the one that its case names.
const LONGEST: usize = 1 << 16;

/// Returns the twin of an invalid vector.
pub fn of<'a>(invalid: &Vector<'_>, vectors: &'a [Vector<'a>]) -> Result<&'a Vector<'a>, String> {
    let twin = match invalid.case.twin {
        Some(id) => named(id, vectors)?,
        None => closest(invalid, vectors).ok_or("no valid vector is a twin: name one")?,
    };
    let [of_invalid, of_valid] = spans(&invalid.file, &twin.file);
    let differs = || format!("the twin {} differs in {of_invalid} or {of_valid} bytes", twin.case.id);
    match (are_close(&invalid.file, &twin.file), invalid.case.unlike) {
        (true, Some(_)) => Err(differs() + ": no reason is needed"),
        (false, None) => Err(differs()),
        _ => Ok(twin),
    }
}

fn named<'a>(id: &str, vectors: &'a [Vector<'a>]) -> Result<&'a Vector<'a>, String> {
    let twin = vectors.iter().find(|vector| vector.case.id == id);
    let twin = twin.ok_or_else(|| format!("no such twin: {id}"))?;
    // The generator has asked the reference, which accepts every valid vector.
    if twin.verdict() == Verdict::Valid { Ok(twin) } else { Err(format!("its twin {id} is not valid")) }
}

fn closest<'a>(invalid: &Vector<'_>, vectors: &'a [Vector<'a>]) -> Option<&'a Vector<'a>> {
    let small = |vector: &&Vector<'_>| vector.file.len() <= LONGEST && vector.verdict() == Verdict::Valid;
    let near = if invalid.file.len() <= LONGEST { vectors } else { &[] };
    let key = |valid: &&Vector<'_>| {
        (only_needed_for(&invalid.file, &valid.file).len(), distance(&invalid.file, &valid.file))
    };
    near.iter().filter(small).min_by_key(key)
}

/// Returns how much the files differ. A header with other data is far away: the data may be a fault itself.
fn distance(invalid: &[u8], valid: &[u8]) -> usize {
    let spans = spans(invalid, valid);
    let other_data = spans.iter().sum::<usize>() > 1 && data_len(invalid) != data_len(valid);
    spans.iter().sum::<usize>() + if other_data { OTHER_DATA } else { 0 }
}

/// Returns the number of bytes after the header, if it ends in the file.
fn data_len(file: &[u8]) -> Option<u64> {
    (file.len() as u64).checked_sub(data_at(file))
}
