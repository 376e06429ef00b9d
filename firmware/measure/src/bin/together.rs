//! Opens a model on a card, finds a tensor in the same pass over the header, and streams it.
#![no_std]
#![no_main]

use embedded_safetensors::{Model, query::Query};
use measure::{Card, Job, Outcome, Step, read_chunks};

measure::program!(|_| (), |job| job.done = open_with_and_stream(job).ok());

fn open_with_and_stream(job: &mut Job<()>) -> Outcome {
    let mut queries = [Query::required(job.name)];
    let mut model = Model::open_with(Card::new(job.file), &mut queries, job.window)?;
    if job.last != Step::All {
        return Ok(model.summary().tensors as u32);
    }
    let [tensor] = &queries;
    read_chunks(model.reader(tensor)?, job.window)
}
