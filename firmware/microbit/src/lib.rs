//! The micro:bit, version 1: an nRF51822 with a Cortex-M0, 256 KiB of flash and 16 KiB of RAM.
//!
//! It uses the network of integers, and its model is a part of the program.
#![no_std]

use app::{Integer, ModelLocation, Text, read_digits_in_integers};
use board::{Board, Console};
use embedded_safetensors::validate::Summary;

const BOARD: Board = Board { name: "microbit", cpu: "Cortex-M0", flash: 256 << 10, ram: 16 << 10 };

/// The limit of the RAM that a program uses.
const LIMIT: u32 = 4 << 10;

/// Reads the digits with this network, and exits; `summary` is its model's.
pub fn run(network: &Integer<'_>, summary: Summary) -> ! {
    BOARD.run(Text(Console), LIMIT, |sink| {
        let location = ModelLocation { name: "digits-i8.safetensors", ram: BOARD.ram };
        read_digits_in_integers(&location, summary, network, sink);
        Ok(())
    })
}
