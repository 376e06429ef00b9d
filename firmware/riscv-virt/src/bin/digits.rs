//! Reads the digits with the model in the flash, and records in the same flash what the network does.
#![no_std]
#![no_main]

use app::{Failure, Place, Recording, Sink, origin, read_digits};
use core::cell::RefCell;
use embedded_safetensors::io::{NorError, NorFile};
use riscv_virt::cfi::{Cfi, CfiError};
use riscv_virt::partitions::{MODEL, RECORDING};
use riscv_virt::shared::Shared;

/// The file that is in the partition of the model.
const MODEL_NAME: &str = "digits-f16.safetensors";

/// What is written at once.
const PAGE: usize = 256;

#[board::entry]
fn main() -> ! {
    riscv_virt::run(|sink, flash| {
        let outcome = read_and_record(sink, flash);
        outcome.map_err(|failure| failure.map(|NorError(error)| error).tell(sink))
    })
}

fn read_and_record(sink: &mut impl Sink, flash: Cfi) -> Result<(), Failure<NorError<CfiError>>> {
    let flash = RefCell::new(flash);
    let model = NorFile::partition(Shared(&flash), MODEL);
    let storage = NorFile::partition(Shared(&flash), RECORDING);
    let (origin, mut page) = (origin(riscv_virt::NAME, MODEL_NAME), [0; PAGE]);
    let mut recording = Recording::new(storage, &origin, &mut page)?;
    read_digits(&Place { name: MODEL_NAME, ram: riscv_virt::RAM }, model, sink, &mut recording)?;
    sink.event(&recording.finish()?);
    Ok(())
}
