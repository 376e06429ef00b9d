//! As `job`, with the asynchronous API, on a card whose futures are always ready.
#![no_std]
#![no_main]

use core::pin::pin;
use core::task::{Context, Poll, Waker};
use embedded_safetensors::{
    asynch::{Model, ReadAt},
    io::FileLen,
};
use measure::{Broken, Card, Job, Outcome, Step};

measure::program!(|job| job.done = block_on(open_find_stream(job)).ok());

/// A card behind asynchronous calls.
struct Later(Card);

impl ReadAt for Later {
    type Error = Broken;

    async fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Broken> {
        embedded_safetensors::ReadAt::read_at(&mut self.0, offset, buffer)
    }

    async fn file_len(&mut self) -> Result<FileLen, Broken> {
        embedded_safetensors::ReadAt::file_len(&mut self.0)
    }
}

async fn open_find_stream(job: &mut Job) -> Outcome {
    let mut model = Model::open(Later(Card::new(job.file)), job.window).await?;
    if job.last == Step::Open {
        return Ok(model.summary().tensors as u32);
    }
    let Some(tensor) = model.find(job.name, job.window).await? else { return Ok(u32::MAX) };
    if job.last == Step::Find {
        return Ok(tensor.byte_len() as u32);
    }
    let mut reader = model.reader(&tensor)?;
    let mut bytes = 0u32;
    while let Some(chunk) = reader.next_chunk(job.window).await? {
        bytes = bytes.wrapping_add(chunk.len() as u32);
    }
    Ok(bytes)
}

fn block_on(future: impl Future<Output = Outcome>) -> Outcome {
    let (mut future, mut context) = (pin!(future), Context::from_waker(Waker::noop()));
    loop {
        if let Poll::Ready(outcome) = future.as_mut().poll(&mut context) {
            return outcome;
        }
    }
}
