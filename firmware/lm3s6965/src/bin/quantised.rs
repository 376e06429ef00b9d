//! Multiplies quantised matrices of the model on the card.
#![no_std]
#![no_main]

#[board::entry]
fn main() -> ! {
    lm3s6965::run(|sink, card| lm3s6965::multiply(card, sink))
}
