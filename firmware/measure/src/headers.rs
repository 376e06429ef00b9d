//! The ways to validate a header and to list its tensors.

use embedded_safetensors::{
    Error, View,
    header::{Entries, Event, HeaderParser, Item},
    validate::{DuplicateFinder, Progress, SortSlot, Validator},
};

/// The size of a small buffer, as for a file on a card.
const WINDOW: usize = 64;

/// Validates a header, and returns the number of tensors.
pub fn validate(file: &[u8], file_len: u64, slots: &mut [SortSlot]) -> Result<u64, Error> {
    let mut check = Validator::new(Some(file_len), slots);
    passes(file, |window| check.push(window))?;
    check.end_of_input()?;
    Ok(check.summary().map_or(0, |summary| summary.tensors))
}

/// Returns whether all names differ.
pub fn find_duplicates(file: &[u8], slots: &mut [SortSlot], text: &mut [u8]) -> Result<bool, Error> {
    let mut check = DuplicateFinder::new([1, 2], slots, text);
    passes(file, |window| check.push(window))
}

/// Parses a header only, and returns the number of tensors.
pub fn parse(file: &[u8]) -> Result<u64, Error> {
    let mut parser = HeaderParser::new();
    let mut tensors = 0;
    for mut window in file.chunks(WINDOW) {
        loop {
            match parser.next(&mut window)? {
                Event::NeedInput => break,
                Event::HeaderEnd => return Ok(tensors),
                Event::TensorEnd => tensors += 1,
                _ => {}
            }
        }
    }
    parser.end_of_input()?;
    Ok(tensors)
}

/// Finds a tensor in a model in memory, and reads its elements in place; returns the number of tensors.
pub fn view(file: &[u8], name: &str) -> Result<u64, Error> {
    let model = View::parse(file)?;
    let elements = model.tensor(name)?.as_f32()?;
    Ok(if core::hint::black_box(elements).is_empty() { 0 } else { model.len() as u64 })
}

/// Lists tensors, and returns how many have a name and bytes.
pub fn read_entries(file: &[u8], name: &mut [u8]) -> Result<u64, Error> {
    let mut entries = Entries::new(name);
    let mut tensors = 0;
    for mut window in file.chunks(WINDOW) {
        loop {
            match entries.next(&mut window)? {
                Item::NeedInput => break,
                Item::HeaderEnd => return Ok(tensors),
                Item::Tensor(entry) => {
                    tensors += u64::from(!entry.name().is_empty() && entry.info.byte_len() > 0);
                }
            }
        }
    }
    Ok(tensors)
}

/// Feeds the file window by window, again from the start as often as requested. Returns false if the file
/// ended too early.
fn passes(file: &[u8], mut push: impl FnMut(&mut &[u8]) -> Result<Progress, Error>) -> Result<bool, Error> {
    loop {
        match one_pass(file, &mut push)? {
            Progress::Rewind => {}
            Progress::Done => return Ok(true),
            Progress::NeedInput => return Ok(false),
        }
    }
}

fn one_pass(
    file: &[u8],
    push: &mut impl FnMut(&mut &[u8]) -> Result<Progress, Error>,
) -> Result<Progress, Error> {
    for mut window in file.chunks(WINDOW) {
        match push(&mut window)? {
            Progress::NeedInput => {}
            other => return Ok(other),
        }
    }
    Ok(Progress::NeedInput)
}
