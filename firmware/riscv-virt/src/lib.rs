//! QEMU's `virt` device for RISC-V as a board: RV32IMC, 16 KiB of RAM, and 32 MiB of NOR flash for the
//! model.
#![no_std]

pub mod cfi;
pub mod partitions;
pub mod shared;

use app::{Failure, Text};
use board::{Board, Console};
use cfi::Cfi;
use core::ptr::NonNull;
use uart_16550::{Config, Uart16550Tty, backend::MmioBackend};

/// The board's name.
pub const NAME: &str = "riscv-virt";

/// The bytes of RAM (memory.x).
pub const RAM: u32 = 16 << 10;

/// The limit of the RAM that a program uses. Some RAM is left below it, because the stack must not grow
/// unnoticed into the memory that stands for flash.
const LIMIT: u32 = 12 << 10;

/// The bytes of RAM of the sentence transformer, the only program that has so much (memory.x).
pub const RAM_OF_MINILM: u32 = 64 << 10;

/// The flash for the program, as in memory.x.
const BOARD: Board = Board { name: NAME, cpu: "RV32IMC", flash: 1 << 20, ram: RAM };

/// The address of the second flash bank. The device boots from the first if it has no other program.
const FLASH: usize = 0x2200_0000;

/// Returns memory that stands for more flash, mapped like the rest: QEMU's loader puts a model there that the
/// flash has no space for.
pub fn mapped() -> &'static [u8] {
    let start = core::ptr::with_exposed_provenance(0x8200_0000);
    // SAFETY: QEMU has as much memory there, and nothing changes it.
    unsafe { core::slice::from_raw_parts(start, 96 << 20) }
}

/// Runs a program with the flash, like [`Board::run`].
pub fn run(program: impl FnOnce(&mut Text<Console>, Cfi) -> Result<(), u8>) -> ! {
    run_within(RAM, LIMIT, program)
}

/// Runs the sentence transformer like [`run`].
pub fn run_minilm(program: impl FnOnce(&mut Text<Console>, Cfi) -> Result<(), u8>) -> ! {
    run_within(RAM_OF_MINILM, RAM_OF_MINILM, program)
}

fn run_within(ram: u32, limit: u32, program: impl FnOnce(&mut Text<Console>, Cfi) -> Result<(), u8>) -> ! {
    Board { ram, ..BOARD }.run(Text(Console), limit, |sink| {
        // SAFETY: QEMU has its flash at this address. Programs start here, once.
        let flash = unsafe { Cfi::probe(FLASH) };
        let flash = flash.map_err(|error| Failure::NoModel(error).report(sink))?;
        program(sink, flash)
    })
}

/// The driver of the UART.
pub type Uart = Uart16550Tty<MmioBackend>;

/// Returns the UART. Call this once.
pub fn uart() -> Uart {
    let address = NonNull::new(core::ptr::with_exposed_provenance_mut(0x1000_0000)).expect("not 0");
    // SAFETY: QEMU has its UART at this address.
    unsafe { Uart::new_mmio(address, 1, Config::default()) }.expect("QEMU has a UART")
}
