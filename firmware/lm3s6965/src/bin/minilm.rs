//! Embeds a text with the sentence transformer on the card, in nearly all of the RAM.
#![no_std]
#![no_main]

use app::minilm::Memory;

#[board::entry]
fn main() -> ! {
    static mut MEMORY: Memory = Memory::new();
    lm3s6965::run_within(lm3s6965::RAM, |sink, card| lm3s6965::embed(card, u32::MAX, MEMORY, sink))
}
