//! Receives a tensor of a model that arrives in pieces.
#![no_std]
#![no_main]

use core::hint::black_box;
use embedded_safetensors::{
    Error,
    query::Query,
    stream::{Receiver, Target},
};
use measure::Job;

/// The size of a piece, as from a wire.
const PIECE: usize = 64;
/// The tensor's size, in the file of the measurement.
const LEN: usize = 128;

measure::program!(|job| job.done = receive(job).ok());

fn receive(job: &mut Job) -> Result<u32, Error> {
    let mut bytes = [0; LEN];
    let mut receiver = Receiver::new([Target::new(Query::required(job.name), &mut bytes)]);
    for piece in job.file.chunks(PIECE) {
        receiver.push(piece)?;
    }
    receiver.end_of_input()?;
    Ok(black_box(&bytes).len() as u32)
}
