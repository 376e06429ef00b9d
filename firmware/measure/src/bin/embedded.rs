//! Opens a model and verifies the sum that it contains.
#![no_std]
#![no_main]

use embedded_safetensors::integrity::Sha256;
use measure::open_and_use;

measure::program!(|_| (), |job| job.done =
    open_and_use(job, |model, window| { model.verify_embedded(Sha256::new(), window) }));
