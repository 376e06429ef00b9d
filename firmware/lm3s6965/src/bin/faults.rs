//! Jumps to where no code can lie, to prove that a fault is told and ends the program.
#![no_std]
#![no_main]

#[board::entry]
fn main() -> ! {
    board::run_into_a_fault()
}
