//! Opens a model and computes the CRC-32 of the file.
#![no_std]
#![no_main]

use core::hint::black_box;
use embedded_safetensors::integrity::Crc32;
use measure::open_and_use;

measure::program!(|_| (), |job| job.done = open_and_use(job, |model, window| {
    black_box(model.sum(Crc32::new(), window)?);
    Ok(())
}));
