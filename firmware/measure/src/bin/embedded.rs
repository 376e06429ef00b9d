//! Opens a model and verifies the sum that it contains.
#![no_std]
#![no_main]

use embedded_safetensors::{Model, integrity::Sha256};
use measure::{Card, Job, Outcome, Step};

measure::program!(|_| (), |job| job.done = run(job).ok());

fn run(job: &mut Job<()>) -> Outcome {
    let mut model = Model::open(Card::new(job.file), job.window)?;
    if job.last != Step::Open {
        model.verify_embedded(Sha256::new(), job.window)?;
    }
    Ok(model.summary().file_len() as u32)
}
