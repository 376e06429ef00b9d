//! Judges the conformance vectors on the card.
#![no_std]
#![no_main]

/// All the RAM that it may need: that of the digits, and something more, for two files are open and whole lines are in memory.
const RAM: u32 = 10 << 10;

#[board::entry]
fn main() -> ! {
    lm3s6965::run(RAM, |sink, card| lm3s6965::judge_vectors(card, sink))
}
