//! As `job`, with the dtype and the shape of the tensor requested.
#![no_std]
#![no_main]

use embedded_safetensors::{Dtype, Model, query::Query};
use measure::{Card, Job, Outcome, Step, read_chunks};

measure::program!(|job| job.done = open_find_stream(job).ok());

fn open_find_stream(job: &mut Job) -> Outcome {
    let mut model = Model::open(Card::new(job.file), job.window)?;
    if job.last == Step::Open {
        return Ok(model.summary().tensors as u32);
    }
    let mut tensor = [Query::required(job.name).dtype(Dtype::F32).shape(&[4, 8])];
    model.find_all(&mut tensor, job.window)?;
    let [tensor] = &tensor;
    read_chunks(model.reader(tensor)?, job.window)
}
