//! Finds out whether all names differ, with as many slots as the request says.
#![no_std]
#![no_main]

use embedded_safetensors::validate::SortSlot;
use measure::{Job, find_duplicates, slots, text};

type Lent = (&'static mut [SortSlot], &'static mut [u8]);

measure::program!(|count| (slots(count), text()), find);

fn find(job: &mut Job<Lent>) {
    let (slots, text) = &mut job.lent;
    job.done = find_duplicates(job.file, slots, text).ok().map(u32::from);
}
