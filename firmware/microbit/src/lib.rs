//! The micro:bit, the first version of it: an nRF51822 with a Cortex-M0, 256 KiB of flash and 16 KiB of RAM.
//!
//! Its network is the one of integers, and its model is a part of the program.
#![no_std]

use app::{Event, Integer, Place, Sink, Text, read_digits_in_integers};
use board::memory::Ram;
use board::{Console, exit};
use embedded_safetensors::Summary;

const FLASH: u32 = 256 * 1024;
const RAM: u32 = 16 * 1024;

/// Reads the digits with this network, whose model this is the summary of, and ends the machine.
pub fn run(network: &Integer<'_>, summary: Summary) -> ! {
    let mut sink = Text(Console);
    sink.event(&Event::Board { name: "microbit", cpu: "Cortex-M0", flash: FLASH, ram: RAM });
    let place = Place { name: "digits-i8.safetensors", ram: RAM };
    read_digits_in_integers(&place, summary, network, &mut sink);
    let Ram { statics, stack } = Ram::used();
    sink.event(&Event::Ram { statics, stack, limit: RAM });
    exit(0)
}
