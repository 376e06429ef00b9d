//! The Netduino Plus 2: an STM32F405 with a Cortex-M4F, 128 KiB of RAM, and 1 MiB of flash with a partition
//! for the model after the program. Reads the digits with floats in hardware.
#![no_std]
#![no_main]

mod flash;

use app::{ModelLocation, Text, read_digits};
use board::{Board, Console};
use core::ops::Range;
use embedded_safetensors::io::NorFile;
use flash::Mapped;

/// The address of the flash.
const FLASH: usize = 0x0800_0000;

/// The partition of the model in the flash: after the program (memory.x), from address 0x0804_0000.
const MODEL: Range<u32> = 0x4_0000..BOARD.flash;

/// The limit of the RAM that the program uses.
const LIMIT: u32 = 16 << 10;

const BOARD: Board = Board { name: "netduinoplus2", cpu: "Cortex-M4F", flash: 1 << 20, ram: 128 << 10 };

#[board::entry]
fn main() -> ! {
    BOARD.run(Text(Console), LIMIT, |sink| {
        // SAFETY: the chip has its flash at this address, and nothing writes to it.
        let flash = unsafe { Mapped::new(FLASH, BOARD.flash) };
        let location = ModelLocation { name: "digits-f16.safetensors", ram: BOARD.ram };
        let outcome = read_digits(&location, NorFile::partition(flash, MODEL), sink, &mut ());
        outcome.map_err(|failure| failure.report(sink))
    })
}
