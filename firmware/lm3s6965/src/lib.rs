//! The LM3S6965 evaluation board: a Cortex-M3 with 256 KiB of flash, 64 KiB of RAM and a slot for an SD card.
#![no_std]

mod card;
mod digits;
mod registers;
mod ssi;
mod vectors;

pub use card::{Card, CardError, InWords, NoClock, Pause, Slot, card};
pub use digits::read_digits;
pub use ssi::{ChipSelect, Ssi};
pub use vectors::judge_vectors;

use app::{Event, Sink, Text};
use board::{Console, memory::Ram};

/// How many bytes of flash there are.
const FLASH: u32 = 256 << 10;

/// How many bytes of RAM there are.
pub const RAM: u32 = 64 << 10;

/// The exit code of a program that needed more RAM than it may.
const TOO_SMALL: u8 = 4;

/// Tells of the board, runs a program, tells what RAM it needed of what it may, and ends. A program that fails has told why,
/// and gives its exit code.
pub fn run(limit: u32, program: impl FnOnce(&mut Text<Console>, Card) -> Result<(), u8>) -> ! {
    let mut sink = Text(Console);
    sink.event(&Event::Board { name: "lm3s6965evb", cpu: "Cortex-M3", flash: FLASH, ram: RAM });
    let outcome = program(&mut sink, card()).and_then(|()| report_ram(&mut sink, limit));
    board::exit(outcome.err().unwrap_or(0).into())
}

fn report_ram(sink: &mut impl Sink, limit: u32) -> Result<(), u8> {
    let used = Ram::used();
    sink.event(&Event::Ram { statics: used.statics, stack: used.stack, limit });
    if used.total() <= limit {
        return Ok(());
    }
    sink.failure(&"error: the program has needed more RAM than it may");
    Err(TOO_SMALL)
}
