//! The Netduino Plus 2: an STM32F405 with a Cortex-M4F, 128 KiB of RAM, and 1 MiB of flash with a partition
//! for the model after the program.
#![no_std]

pub mod flash;
pub mod log;

use app::Failure;
use board::Board;
use core::ops::Range;
use embedded_safetensors::io::NorError;
use embedded_storage::nor_flash::NorFlashErrorKind;
use flash::Mapped;
use log::Log;

/// The address of the flash.
const FLASH: usize = 0x0800_0000;

/// The bytes of flash.
const FLASH_LEN: u32 = 1 << 20;

/// The partition of the model in the flash: after the program (memory.x), from address 0x0804_0000.
pub const MODEL: Range<u32> = 0x4_0000..FLASH_LEN;

/// The bytes of RAM for a program.
pub const RAM: u32 = 128 << 10;

/// The limit of the RAM that a program uses.
const LIMIT: u32 = 16 << 10;

const BOARD: Board = Board { name: "netduinoplus2", cpu: "Cortex-M4F", flash: FLASH_LEN, ram: RAM };

/// An error of the flash.
pub type FlashError = NorError<NorFlashErrorKind>;

/// Runs a program with the flash, like [`Board::run`], and reports its failure.
pub fn run(program: impl FnOnce(&mut Log, Mapped) -> Result<(), Failure<FlashError>>) -> ! {
    BOARD.run(log::open(), LIMIT, |log| {
        // SAFETY: the chip has its flash at this address, and nothing writes to it.
        let flash = unsafe { Mapped::new(FLASH, FLASH_LEN) };
        program(log, flash).map_err(|failure| failure.report(log))
    })
}
