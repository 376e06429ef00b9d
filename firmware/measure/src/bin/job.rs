//! Opens a model on a card, which validates it, finds a tensor, and streams it.
#![no_std]
#![no_main]

use embedded_safetensors::Model;
use measure::{Card, Job, Outcome, Step, read_chunks};

measure::program!(|job| job.done = open_find_stream(job).ok());

fn open_find_stream(job: &mut Job) -> Outcome {
    let mut model = Model::open(Card::new(job.file), job.window)?;
    if job.last == Step::Open {
        return Ok(model.summary().tensors as u32);
    }
    let Some(tensor) = model.find(job.name, job.window)? else { return Ok(u32::MAX) };
    if job.last == Step::Find {
        return Ok(tensor.byte_len() as u32);
    }
    read_chunks(model.reader(&tensor)?, job.window)
}
