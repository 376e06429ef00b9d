//! Judges the conformance vectors on the card.
#![no_std]
#![no_main]

/// All the RAM that it may need: for its stack and its buffers, the driver of the card and the file system with two files open.
const RAM: u32 = 8 << 10;

#[board::entry]
fn main() -> ! {
    lm3s6965::run(RAM, |sink, card| lm3s6965::judge_vectors(card, sink))
}
