//! Opens a model on a card, which proves it; finds one tensor, and streams it.
#![no_std]
#![no_main]

use embedded_safetensors::{Model, ReadError};
use measure::{Broken, Card, Job, Step};

measure::program!(|_| (), |job| job.done = open_find_stream(job).ok());

fn open_find_stream(job: &mut Job<()>) -> Result<u32, ReadError<Broken>> {
    let mut model = Model::open(Card::new(job.file), job.window)?;
    if job.last == Step::Open {
        return Ok(model.summary().tensors as u32);
    }
    let Some(tensor) = model.find(job.name, job.window)? else { return Ok(u32::MAX) };
    if job.last == Step::Find {
        return Ok(tensor.byte_len() as u32);
    }
    let mut reader = model.tensor(&tensor)?;
    let mut bytes = 0u32;
    while let Some(chunk) = reader.next_chunk(job.window)? {
        bytes = bytes.wrapping_add(chunk.len() as u32);
    }
    Ok(bytes)
}
