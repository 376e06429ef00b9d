//! QEMU's `virt` machine for RISC-V as a board: RV32IMC, 16 KiB of RAM, and 32 MiB of NOR flash in which the model lies.
#![no_std]

pub mod cfi;
pub mod partitions;
pub mod shared;

use app::{Failure, Text};
use board::{Board, Console};
use cfi::Cfi;

/// What the board is called.
pub const NAME: &str = "riscv-virt";

/// How many bytes of RAM there are (memory.x).
pub const RAM: u32 = 16 << 10;

/// All the RAM that a program may need, however it ends. Below it there is some left, for the stack must not leave the RAM
/// unseen: what follows is the memory that stands for flash.
const LIMIT: u32 = 12 << 10;

/// A program may have as much flash as memory.x says.
const BOARD: Board = Board { name: NAME, cpu: "RV32IMC", flash: 1 << 20, ram: RAM };

/// Where the second bank of flash is; the first is where machines start from that have no other program.
const FLASH: usize = 0x2200_0000;

/// Runs a program with the flash, as [`Board::run`] does.
pub fn run(program: impl FnOnce(&mut Text<Console>, Cfi) -> Result<(), u8>) -> ! {
    BOARD.run(Text(Console), LIMIT, |sink| {
        // SAFETY: QEMU has its flash there. Programs begin here, and do so once.
        let flash = unsafe { Cfi::probe(FLASH) };
        let flash = flash.map_err(|error| Failure::NoModel(error).tell(sink))?;
        program(sink, flash)
    })
}
