//! Finds a tensor, and then reads it by hand, a window at a time, or streams it: the cost of streaming
//! above the unavoidable reads. Both are in one program, so that the card's own code is the same.
#![no_std]
#![no_main]

use embedded_safetensors::{Model, ReadAt, ReadError, TensorInfo};
use measure::{Card, Job, Outcome, Step, read_chunks};

measure::program!(|_| (), |job| job.done = read(job).ok());

fn read(job: &mut Job<()>) -> Outcome {
    let mut model = Model::open(Card::new(job.file), job.window)?;
    let Some(tensor) = model.find(job.name, job.window)? else { return Ok(u32::MAX) };
    match job.last {
        Step::Open => Ok(0),
        Step::Find => by_hand(model, &tensor, job.window),
        Step::All => stream(&mut model, &tensor, job.window),
    }
}

#[inline(never)]
fn by_hand(model: Model<Card>, tensor: &TensorInfo, window: &mut [u8]) -> Outcome {
    let start = model.summary().data_start.wrapping_add(tensor.begin());
    let mut card = model.into_source();
    let mut bytes = 0u32;
    while u64::from(bytes) < tensor.byte_len() {
        let at = start.wrapping_add(bytes.into());
        let len = card.read_at(at, window).map_err(ReadError::Source)?;
        bytes = bytes.wrapping_add(len as u32);
    }
    Ok(bytes)
}

#[inline(never)]
fn stream(model: &mut Model<Card>, tensor: &TensorInfo, window: &mut [u8]) -> Outcome {
    read_chunks(model.reader(tensor)?, window)
}
