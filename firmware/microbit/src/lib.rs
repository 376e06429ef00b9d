//! The micro:bit, the first version of it: an nRF51822 with a Cortex-M0, 256 KiB of flash and 16 KiB of RAM.
//!
//! Its network is the one of integers, and its model is a part of the program.
#![no_std]

use app::{Integer, Place, Text, read_digits_in_integers};
use board::{Board, Console};
use embedded_safetensors::validate::Summary;

const BOARD: Board = Board { name: "microbit", cpu: "Cortex-M0", flash: 256 << 10, ram: 16 << 10 };

/// All the RAM that a program may need.
const LIMIT: u32 = 4 << 10;

/// Reads the digits with this network, whose model this is the summary of, and ends the machine.
pub fn run(network: &Integer<'_>, summary: Summary) -> ! {
    BOARD.run(Text(Console), LIMIT, |sink| {
        let place = Place { name: "digits-i8.safetensors", ram: BOARD.ram };
        read_digits_in_integers(&place, summary, network, sink);
        Ok(())
    })
}
