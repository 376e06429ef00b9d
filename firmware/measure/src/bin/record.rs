//! Describes a file, sorts it and records it in flash.
#![no_std]
#![no_main]

use measure::{Job, Order, description, flash, order, record_file};

type Memory = (&'static mut Order, &'static mut [u8]);

measure::program!(|_| (order(), flash()), record);

fn record(job: &mut Job<Memory>) {
    let (order, flash) = &mut job.memory;
    job.done = record_file(description(), job.file, flash, order);
}
