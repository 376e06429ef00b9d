//! Prints the nested structure on the card, which the Python package safestructures has saved.
#![no_std]
#![no_main]

#[board::entry]
fn main() -> ! {
    lm3s6965::run(|sink, card| lm3s6965::show_structure(card, sink))
}
