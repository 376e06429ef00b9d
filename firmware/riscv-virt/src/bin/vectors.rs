//! Judges the conformance vectors in the flash.
#![no_std]
#![no_main]

use app::vectors::{Memory, run};
use core::cell::RefCell;
use embedded_safetensors::io::{FlashError, FlashFile};
use riscv_virt::partitions::{MANIFEST, VECTORS};
use riscv_virt::shared::Shared;

#[board::entry]
fn main() -> ! {
    riscv_virt::run(|sink, flash| {
        let flash = RefCell::new(flash);
        let file = |partition| FlashFile::partition(Shared(&flash), partition);
        let outcome = run(file(MANIFEST), file(VECTORS), &mut Memory::new(), sink);
        outcome.map(drop).map_err(|failure| failure.map(|FlashError(error)| error).tell(sink))
    })
}
