//! Reads the digits with the model in a partition of the chip's flash.
#![no_std]
#![no_main]

use app::{ModelLocation, read_digits};
use embedded_safetensors::io::NorFile;
use netduinoplus2::{MODEL, RAM};

#[board::entry]
fn main() -> ! {
    netduinoplus2::run(|log, flash| {
        let location = ModelLocation { name: "digits-f16.safetensors", ram: RAM };
        let model = NorFile::partition(flash, MODEL);
        read_digits(&location, model, log, &mut ())
    })
}
