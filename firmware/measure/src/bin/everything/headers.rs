//! The APIs for headers.

use crate::Job;
use crate::numbers::{bytes, number, tensor};
use embedded_safetensors::{
    Dtype, Error, ErrorKind, Shape, TensorInfo,
    header::{Entries, Event, HeaderParser, Item},
    validate::{DuplicateFinder, Progress, SortSlot, Summary, Validator, validate, validate_header},
};

pub fn all(job: &Job, file: &[u8], slots: &mut [SortSlot], text: &mut [u8]) -> u64 {
    let seen = [
        number(validate(file, slots, text).and_then(|summary| lengths(summary, job.file_len))),
        number(validate_header(file, slots).and_then(|summary| lengths(summary, job.file_len))),
        number(events(file)),
        number(entries(file, text)),
        number(verdict(file, job.file_len, slots)),
        number(duplicates(file, slots, text)),
        number(own_tensor(file, job.slots).map_err(|kind| kind.at(job.file_len))),
    ];
    seen.into_iter().fold(0, u64::wrapping_add)
}

fn lengths(summary: Summary, file_len: u64) -> Result<u64, Error> {
    summary.validate_file_len(file_len)?;
    Ok(summary.tensors ^ summary.data_start ^ summary.data_len)
}

/// Uses every event, including its text, and every method of the parser.
fn events(mut file: &[u8]) -> Result<u64, Error> {
    let mut parser = HeaderParser::new();
    let mut sum = 0;
    loop {
        sum ^= match parser.next(&mut file)? {
            Event::NeedInput => break,
            Event::HeaderEnd => return Ok(sum),
            Event::Name(text) | Event::Key(text) | Event::Value(text) => bytes(text.as_bytes()),
            Event::Dtype(dtype) => bytes(dtype.name().as_bytes()) ^ u64::from(dtype.bits()),
            Event::Length(value) | Event::Dim(value) | Event::Begin(value) | Event::End(value) => value,
            _ => parser.event_start() ^ parser.position() ^ parser.header_len().unwrap_or(0),
        }
    }
    parser.end_of_input()?;
    Ok(sum)
}

fn entries(mut file: &[u8], name: &mut [u8]) -> Result<u64, Error> {
    let mut entries = Entries::new(name);
    let mut sum = 0;
    loop {
        sum ^= match entries.next(&mut file)? {
            Item::Tensor(entry) => {
                bytes(entry.name_bytes()) ^ bytes(entry.name().as_bytes()) ^ tensor(&entry.info) ^ entry.at
            }
            Item::HeaderEnd => return Ok(sum ^ entries.position()),
            Item::NeedInput => break,
        }
    }
    entries.end_of_input()?;
    Ok(sum)
}

/// Validates a header from a stream, whose length is known only at the end.
fn verdict(mut file: &[u8], file_len: u64, slots: &mut [SortSlot]) -> Result<u64, Error> {
    let mut check = Validator::new(None, slots);
    if check.push(&mut file)? == Progress::Rewind {
        return Ok(check.position());
    }
    check.end_of_input()?;
    check.summary().map_or(Ok(0), |summary| lengths(summary, file_len))
}

fn duplicates(mut file: &[u8], slots: &mut [SortSlot], text: &mut [u8]) -> Result<u64, Error> {
    let mut check = DuplicateFinder::new([bytes(file), 2], slots, text);
    if check.push(&mut file)? == Progress::NeedInput {
        check.end_of_input()?;
    }
    Ok(check.position())
}

/// Uses a tensor that is not from a header.
fn own_tensor(file: &[u8], rank: usize) -> Result<u64, ErrorKind> {
    let dims: [u64; 16] = core::array::from_fn(|index| file.get(index).copied().unwrap_or(0).into());
    let mut shape = Shape::new(dims.get(..rank).unwrap_or(&dims))?;
    shape.push(bytes(file))?;
    let elements = shape.elements()? ^ shape.rank() as u64;
    let Some(dtype) = Dtype::from_name(file) else { return Ok(elements) };
    let info = TensorInfo::new(dtype, shape, bytes(file), elements)?;
    Ok(tensor(&info))
}
