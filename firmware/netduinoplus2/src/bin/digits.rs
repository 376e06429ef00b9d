//! Reads the digits with the model in a partition of the flash on the chip.
#![no_std]
#![no_main]

use app::{Place, read_digits};
use embedded_safetensors::io::NorFile;
use netduinoplus2::{MODEL, RAM};

#[board::entry]
fn main() -> ! {
    netduinoplus2::run(|log, flash| {
        let place = Place { name: "digits-f16.safetensors", ram: RAM };
        let model = NorFile::partition(flash, MODEL);
        read_digits(&place, model, log, &mut ())
    })
}
