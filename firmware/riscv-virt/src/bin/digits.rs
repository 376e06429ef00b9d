//! Reads the digits with the model in flash, and records the network's outputs in the same flash.
#![no_std]
#![no_main]

use app::{Failure, ModelLocation, Recording, Sink, origin, read_digits};
use core::cell::RefCell;
use embedded_safetensors::io::{NorError, NorFile};
use riscv_virt::cfi::{Cfi, CfiError};
use riscv_virt::partitions::{MODEL, RECORDING};
use riscv_virt::shared::Shared;

/// The name of the file in the model's partition.
const MODEL_NAME: &str = "digits-f16.safetensors";

/// The size of a write.
const PAGE: usize = 256;

#[board::entry]
fn main() -> ! {
    riscv_virt::run(|sink, flash| {
        let outcome = read_and_record(sink, flash);
        outcome.map_err(|failure| failure.map(|NorError(error)| error).report(sink))
    })
}

fn read_and_record(sink: &mut impl Sink, flash: Cfi) -> Result<(), Failure<NorError<CfiError>>> {
    let flash = RefCell::new(flash);
    let model = NorFile::partition(Shared(&flash), MODEL);
    let storage = NorFile::partition(Shared(&flash), RECORDING);
    let (origin, mut page) = (origin(riscv_virt::NAME, MODEL_NAME), [0; PAGE]);
    let mut recording = Recording::new(storage, &origin, &mut page)?;
    read_digits(&ModelLocation { name: MODEL_NAME, ram: riscv_virt::RAM }, model, sink, &mut recording)?;
    sink.event(&recording.finish()?);
    Ok(())
}
