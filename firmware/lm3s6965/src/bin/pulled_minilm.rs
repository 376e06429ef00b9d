//! Embeds a text until the card is pulled.
#![no_std]
#![no_main]

use app::minilm::Memory;

/// The number of blocks that are read before the card is pulled, in a layer.
const BLOCKS: u32 = 4000;

#[board::entry]
fn main() -> ! {
    static mut MEMORY: Memory = Memory::new();
    lm3s6965::run_within(lm3s6965::RAM, |sink, card| lm3s6965::embed(card, BLOCKS, MEMORY, sink))
}
