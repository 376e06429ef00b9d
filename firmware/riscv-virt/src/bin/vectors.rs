//! Validates the conformance vectors in the flash.
#![no_std]
#![no_main]

use app::vectors::{Memory, run};
use core::cell::RefCell;
use embedded_safetensors::io::{NorError, NorFile};
use riscv_virt::partitions::{MANIFEST, VECTORS};
use riscv_virt::shared::Shared;

#[board::entry]
fn main() -> ! {
    riscv_virt::run(|sink, flash| {
        let flash = RefCell::new(flash);
        let file = |partition| NorFile::partition(Shared(&flash), partition);
        let outcome = run(file(MANIFEST), file(VECTORS), &mut Memory::new(), sink);
        outcome.map(drop).map_err(|failure| failure.map(|NorError(error)| error).report(sink))
    })
}
