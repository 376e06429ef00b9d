//! Reads the digits with the model on the card, in an eighth of the RAM.
#![no_std]
#![no_main]

#[board::entry]
fn main() -> ! {
    lm3s6965::run(|sink, card| lm3s6965::read_digits(card, sink))
}
