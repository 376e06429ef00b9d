//! Multiplies quantised matrices of the model in flash.
#![no_std]
#![no_main]

use embedded_safetensors::io::{NorError, NorFile};
use riscv_virt::partitions::MODEL;

#[board::entry]
fn main() -> ! {
    riscv_virt::run(|sink, flash| {
        let outcome = app::multiply(NorFile::partition(flash, MODEL), sink);
        outcome.map_err(|failure| failure.map(|NorError(error)| error).report(sink))
    })
}
