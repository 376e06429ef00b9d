//! Checks that all names differ, with the requested number of slots.
#![no_std]
#![no_main]

use embedded_safetensors::validate::SortSlot;
use measure::{Job, find_duplicates, slots, text};

type Memory = (&'static mut [SortSlot], &'static mut [u8]);

measure::program!(|count| (slots(count), text()), find);

fn find(job: &mut Job<Memory>) {
    let (slots, text) = &mut job.memory;
    job.done = find_duplicates(job.file, slots, text).ok().map(u32::from);
}
