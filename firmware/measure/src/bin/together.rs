//! Opens a model on a card and finds one tensor in one pass over its header, and streams it.
#![no_std]
#![no_main]

use embedded_safetensors::query::Wanted;
use embedded_safetensors::{Model, ReadError};
use measure::{Broken, Card, Job, Step};

measure::program!(|_| (), |job| job.done = open_with_and_stream(job).ok());

fn open_with_and_stream(job: &mut Job<()>) -> Result<u32, ReadError<Broken>> {
    let mut wanted = [Wanted::new(job.name)];
    let mut model = Model::open_with(Card::new(job.file), &mut wanted, job.window)?;
    if job.last != Step::All {
        return Ok(model.summary().tensors as u32);
    }
    let [tensor] = &wanted;
    let mut reader = model.tensor(tensor)?;
    let mut bytes = 0u32;
    while let Some(chunk) = reader.next_chunk(job.window)? {
        bytes = bytes.wrapping_add(chunk.len() as u32);
    }
    Ok(bytes)
}
