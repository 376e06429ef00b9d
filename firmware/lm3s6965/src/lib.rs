//! The LM3S6965 evaluation board: a Cortex-M3 with 256 KiB of flash, 64 KiB of RAM and a slot for an SD card.
#![no_std]

mod card;
mod digits;
mod file;
mod interop;
mod minilm;
mod pulled;
mod quantised;
mod registers;
mod regression;
mod ssi;
mod structure;
mod vectors;

pub use card::{Card, CardError, DescribedError, NoClock, Pause, Slot};
pub use digits::read_digits;
pub use interop::read_files;
pub use minilm::embed;
pub use pulled::Pulled;
pub use quantised::multiply;
pub use regression::predict;
pub use structure::show_structure;
pub use vectors::judge_vectors;

use app::Text;
use board::{Board, Console};

/// The bytes of RAM.
pub const RAM: u32 = 64 << 10;

/// The limit of the RAM that a program uses: for its stack and its buffers, the driver of the card, and the
/// file system with two open files.
pub const LIMIT: u32 = 8 << 10;

const BOARD: Board = Board { name: "lm3s6965evb", cpu: "Cortex-M3", flash: 256 << 10, ram: RAM };

/// Runs a program with the card in the slot, like [`Board::run`].
pub fn run(program: impl FnOnce(&mut Text<Console>, Card) -> Result<(), u8>) -> ! {
    run_within(LIMIT, program)
}

/// Runs a program like [`run`], with another limit.
pub fn run_within(limit: u32, program: impl FnOnce(&mut Text<Console>, Card) -> Result<(), u8>) -> ! {
    BOARD.run(Text(Console), limit, |sink| program(sink, card::card()))
}
