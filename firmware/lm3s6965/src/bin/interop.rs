//! Reads the files of other frameworks on the card.
#![no_std]
#![no_main]

#[board::entry]
fn main() -> ! {
    lm3s6965::run(|sink, card| lm3s6965::read_files(card, sink))
}
