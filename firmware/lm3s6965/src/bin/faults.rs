//! Jumps to an address without code, to test that a CPU fault is reported and ends the program.
#![no_std]
#![no_main]

#[board::entry]
fn main() -> ! {
    board::run_into_a_fault()
}
