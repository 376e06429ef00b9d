//! Validates a header, with the requested number of slots.
#![no_std]
#![no_main]

use embedded_safetensors::validate::SortSlot;
use measure::{Job, slots, validate};

measure::program!(slots, judge);

fn judge(job: &mut Job<&mut [SortSlot]>) {
    let tensors = validate(job.file, job.file.len() as u64, job.memory);
    job.done = tensors.ok().map(|count| count as u32);
}
