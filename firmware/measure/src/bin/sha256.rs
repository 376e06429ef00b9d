//! Opens a model and computes the SHA-256 of the file.
#![no_std]
#![no_main]

use core::hint::black_box;
use embedded_safetensors::integrity::Sha256;
use measure::open_and_use;

measure::program!(|_| (), |job| job.done = open_and_use(job, |model, window| {
    black_box(model.sum(Sha256::new(), window)?);
    Ok(())
}));
