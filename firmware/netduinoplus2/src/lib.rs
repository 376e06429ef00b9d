//! The Netduino Plus 2: an STM32F405 with a Cortex-M4F, 128 KiB of RAM, and 1 MiB of flash, in which the model has a partition
//! behind the program.
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

/// Where the flash is.
const FLASH: usize = 0x0800_0000;

/// How many bytes it has.
const FLASH_LEN: u32 = 1 << 20;

/// Where in the flash the model is: behind the program (memory.x), from address 0x0804_0000 on.
pub const MODEL: Range<u32> = 0x4_0000..FLASH_LEN;

/// How many bytes of RAM a program can use.
pub const RAM: u32 = 128 << 10;

/// All of it that a program may need, however it ends.
const LIMIT: u32 = 16 << 10;

const BOARD: Board = Board { name: "netduinoplus2", cpu: "Cortex-M4F", flash: FLASH_LEN, ram: RAM };

/// What the flash can fail with.
pub type Trouble = NorError<NorFlashErrorKind>;

/// Runs a program with the flash, as [`Board::run`] does, and tells what it fails with.
pub fn run(program: impl FnOnce(&mut Log, Mapped) -> Result<(), Failure<Trouble>>) -> ! {
    BOARD.run(log::open(), LIMIT, |log| {
        // SAFETY: the chip has its flash there, and nothing writes to it.
        let flash = unsafe { Mapped::new(FLASH, FLASH_LEN) };
        program(log, flash).map_err(|failure| failure.tell(log))
    })
}
