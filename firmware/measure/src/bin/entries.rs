//! Lists names and tensors one by one.
#![no_std]
#![no_main]

use measure::{Job, read_entries, text};

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    measure::run(|_| text(), list, |_| {})
}

fn list(job: &mut Job<&mut [u8]>) {
    job.done = read_entries(job.file, job.lent).ok().map(|count| count as u32);
}
