//! Validates header, layout, length and names.

use super::evidence::error_of;
use super::header::Failure;
use super::open::open;
use super::source::{BUFFER, Data, Source};
use crate::context::Context;
use crate::error::Error;
use crate::error::not_read::NotRead;
use embedded_safetensors::{
    ErrorKind, Model, ReadError,
    index::OwnedIndex,
    validate::{SortSlot, Summary},
};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

/// The most slots, of 24 bytes each. With more names, the header is read more often.
const MOST_SLOTS: u64 = 1 << 16;
/// An entry of a header is seldom shorter.
const ENTRY: u64 = 48;
/// Longer names are compared piece by piece. Used only if two hashes are equal.
const NAME_MEMORY: usize = 1 << 19;

/// Opens a file, or standard input for `-`, and validates it in memory that does not depend on its header.
///
/// # Errors
/// The file is invalid or cannot be read.
pub fn open_valid(context: &Context, path: &Path, data: Data) -> Result<(Source, Summary), Error> {
    let mut source = open(context, path).map_err(|reason| Error::not_read(path, reason))?;
    match validate(&mut source, data) {
        Ok(summary) => Ok((source, summary)),
        Err(failure) => Err(error_of(path, &mut source, failure)),
    }
}

/// Validates a file, and lists its tensors in memory that grows with the header. Reads the data of a stream
/// too, and keeps it if requested.
///
/// # Errors
/// The file is invalid or cannot be read.
pub fn index_of(source: &mut Source, data: Data) -> Result<OwnedIndex, Failure> {
    if source.len().is_none() {
        validate(source, data)?;
    }
    let Some((header, len)) = source.header()?.zip(source.len()) else {
        validate(source, data)?;
        return Err(NotRead::changed().into());
    };
    let index = OwnedIndex::of(&header, len);
    source.check_unchanged()?;
    Ok(index?)
}

fn validate(source: &mut Source, data: Data) -> Result<Summary, Failure> {
    let judged = judge(source, data);
    source.check_unchanged()?;
    judged
}

fn judge(source: &mut Source, data: Data) -> Result<Summary, Failure> {
    // A file too short for a length is short.
    let header_end = source.header_end().unwrap_or(0);
    let slots = usize::try_from((header_end / ENTRY).clamp(2, MOST_SLOTS)).unwrap_or(2);
    let (slots, mut window) = (&mut vec![SortSlot::EMPTY; slots], vec![0; BUFFER]);
    if source.len().is_none() {
        // The length of a stream is known only at its end, which is read only after a valid header.
        let data_len = match Model::open_unordered(&mut *source, slots, &mut window) {
            Ok(model) => model.summary().data_len,
            // Longer than any file; the error contains the length that this file needs.
            Err(ReadError::Format(embedded_safetensors::Error {
                kind: ErrorKind::DataShort { needed, .. },
                ..
            })) => needed,
            Err(error) => return Err(error.into()),
        };
        source.read_data(header_end, data_len, data)?;
    }
    let mut model = Model::open_unordered(source, slots, &mut window)?;
    let (summary, chance) = (model.summary(), RandomState::new());
    // No name is longer than the header.
    let mut text = vec![0; usize::try_from(summary.data_start).unwrap_or(NAME_MEMORY).min(NAME_MEMORY)];
    model.validate_names([chance.hash_one(0), chance.hash_one(1)], slots, &mut text, &mut window)?;
    Ok(summary)
}
