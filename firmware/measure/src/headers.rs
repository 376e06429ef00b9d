//! The ways to judge a header and to list what it has.

use embedded_safetensors::{
    Error, View,
    header::{Entries, Event, HeaderParser, Item},
    validate::{DuplicateFinder, Progress, SortSlot, Validator},
};

/// As if the file lay on a card and were read through a small buffer.
const WINDOW: usize = 64;

/// Open-and-validate: how many tensors, or the error.
pub fn validate(file: &[u8], file_len: u64, slots: &mut [SortSlot]) -> Result<u64, Error> {
    let mut check = Validator::new(Some(file_len), slots);
    passes(file, |window| check.push(window))?;
    check.end_of_input()?;
    Ok(check.summary().map_or(0, |summary| summary.tensors))
}

/// Whether all names differ.
pub fn find_duplicates(file: &[u8], slots: &mut [SortSlot], text: &mut [u8]) -> Result<bool, Error> {
    let mut check = DuplicateFinder::new([1, 2], slots, text);
    passes(file, |window| check.push(window))
}

/// The bare parser: how many tensors the header has.
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

/// A model in memory that is addressed: how many tensors it has, once one is found by its name and its elements are
/// read in place.
pub fn view(file: &[u8], name: &str) -> Result<u64, Error> {
    let model = View::parse(file)?;
    let elements = model.tensor(name)?.as_f32()?;
    Ok(if core::hint::black_box(elements).is_empty() { 0 } else { model.len() as u64 })
}

/// Names and tensors, one by one: how many have a name and bytes.
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

/// Feeds the file window by window, again from the start as often as it is asked for. False: the file
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
