//! Panics, to test that a panic is reported and ends the program.
#![no_std]
#![no_main]

#[board::entry]
fn main() -> ! {
    board::run_into_a_panic()
}
