//! Predicts with the linear regression on the card, which the Rust crate aprender has trained.
#![no_std]
#![no_main]

#[board::entry]
fn main() -> ! {
    lm3s6965::run(|sink, card| lm3s6965::predict(card, sink))
}
