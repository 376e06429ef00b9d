//! Opens a model and computes the CRC-32 of the file.
#![no_std]
#![no_main]

use core::hint::black_box;
use embedded_safetensors::{Model, integrity::Crc32};
use measure::{Card, Job, Outcome, Step};

measure::program!(|_| (), |job| job.done = run(job).ok());

fn run(job: &mut Job<()>) -> Outcome {
    let mut model = Model::open(Card::new(job.file), job.window)?;
    if job.last != Step::Open {
        black_box(model.sum(Crc32::new(), job.window)?);
    }
    Ok(model.summary().file_len() as u32)
}
