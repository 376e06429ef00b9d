//! QEMU's `virt` machine for RISC-V as a board: RV32IMC, 16 KiB of RAM, and 32 MiB of NOR flash in which the model lies.
#![no_std]

pub mod cfi;
pub mod partitions;
pub mod shared;

use app::{Event, Failure, Sink, Text};
use board::Console;
use board::memory::Ram;
use cfi::Cfi;

/// What the board is called.
pub const NAME: &str = "riscv-virt";

/// How many bytes a program may have (memory.x).
const PROGRAM: u32 = 1 << 20;

/// How many bytes of RAM there are (memory.x).
pub const RAM: u32 = 16 << 10;

/// Where the second bank of flash is; the first is where machines start from that have no other program.
const FLASH: usize = 0x2200_0000;

/// Tells of the board, runs a program, tells what RAM it needed, and ends. A program that fails has told why, and gives its
/// exit code.
pub fn run(program: impl FnOnce(&mut Text<Console>, Cfi) -> Result<(), u8>) -> ! {
    let mut sink = Text(Console);
    sink.event(&Event::Board { name: NAME, cpu: "RV32IMC", flash: PROGRAM, ram: RAM });
    // SAFETY: QEMU has its flash there. Programs begin here, and do so once.
    let flash = unsafe { Cfi::probe(FLASH) };
    let flash = flash.map_err(|error| Failure::NoModel(error).tell(&mut sink));
    if let Err(code) = flash.and_then(|flash| program(&mut sink, flash)) {
        board::exit(code.into());
    }
    let Ram { statics, stack } = Ram::used();
    sink.event(&Event::Ram { statics, stack, limit: RAM });
    board::exit(0)
}
