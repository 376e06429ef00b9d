//! Opens a model, and does no more: the baseline of the programs that compute a sum.
#![no_std]
#![no_main]

use embedded_safetensors::Model;
use measure::{Card, Job, Outcome};

measure::program!(|_| (), |job| job.done = run(job).ok());

fn run(job: &mut Job<()>) -> Outcome {
    let model = Model::open(Card::new(job.file), job.window)?;
    Ok(model.summary().file_len() as u32)
}
