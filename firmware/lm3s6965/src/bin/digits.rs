//! Reads the digits with the model on the card, in an eighth of the RAM.
#![no_std]
#![no_main]

/// All the RAM that it may need: for its stack and its buffers, the driver of the card and the file system.
const RAM: u32 = 8 << 10;

#[board::entry]
fn main() -> ! {
    lm3s6965::run(RAM, |sink, card| lm3s6965::read_digits(card, sink))
}
