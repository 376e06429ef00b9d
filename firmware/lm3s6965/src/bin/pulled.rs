//! Reads digits until the card is pulled.
#![no_std]
#![no_main]

use core::cell::Cell;
use lm3s6965::Pulled;

/// The number of blocks that are read before the card is pulled, in the middle of an image.
const BLOCKS: u32 = 2000;

#[board::entry]
fn main() -> ! {
    let left = &Cell::new(BLOCKS);
    lm3s6965::run(|sink, card| lm3s6965::read_digits(Pulled { card, left }, sink))
}
