//! Panics, to prove that a panic is told and ends the program.
#![no_std]
#![no_main]

#[board::entry]
fn main() -> ! {
    panic!("this program does nothing else")
}
