//! A Raspberry Pi Pico: a Cortex-M0+ that reads handwritten digits with a network of integers or a forest.
//!
//! The model is not part of the program. It is in a partition of the flash, which the chip maps into
//! memory. It is validated when the program starts, and its weights are read in place.
//!
//! *Wiring*: a serial adapter's RX on GPIO0 (pin 1) and its ground on pin 3, 115200 baud. To use a debug
//! probe instead of USB for the flash: SWCLK, GND and SWDIO of the board.
//!
//! *The model*, over USB with the board's button held while it is plugged in, or with the probe:
//!
//! ```text
//! picotool load ../app/models/digits-i8.safetensors -t bin -o 0x10100000
//! probe-rs download --chip RP2040 --binary-format bin --base-address 0x10100000 \
//!     ../app/models/digits-i8.safetensors
//! ```
//!
//! *The program*, in the same two ways. It ends at a breakpoint, whose number is the exit code.
//!
//! ```text
//! picotool load target/thumbv6m-none-eabi/release/digits -t elf --execute
//! probe-rs run --chip RP2040 target/thumbv6m-none-eabi/release/digits
//! ```
//!
//! *Without a board*: `npm ci` in `emulator`, then `cargo run --release`.
#![no_std]
#![no_main]

mod console;
mod flash;
mod stop;

use app::{Event, Failure, Integer, ModelLocation, Sink, Text, read_digits_in_integers};
use console::Console;
use core::convert::Infallible;
use rp2040_hal::pac::Peripherals;
use stop::{MISTAKE, stop};

/// All of its RAM, including two small banks.
const RAM: u32 = 264 * 1024;

#[rp2040_hal::entry]
fn main() -> ! {
    let Some(console) = Peripherals::take().and_then(Console::start) else { stop(MISTAKE) };
    let mut sink = Text(console);
    sink.event(&Event::Board { name: "rp2040", cpu: "Cortex-M0+", flash: flash::BYTES, ram: RAM });
    stop(match run(&mut sink) {
        Ok(()) => 0,
        Err(failure) => failure.report(&mut sink),
    })
}

/// Reading memory cannot fail.
fn run(sink: &mut impl Sink) -> Result<(), Failure<Infallible>> {
    let model = flash::model().map_err(Failure::of_memory)?;
    if model.find("children")?.is_some() {
        return app::read_digits_with_forest(&model, sink);
    }
    let network = Integer::find(&model)?;
    let location = ModelLocation { name: "flash at 0x10100000", ram: RAM };
    read_digits_in_integers(&location, model.summary(), &network, sink);
    Ok(())
}
