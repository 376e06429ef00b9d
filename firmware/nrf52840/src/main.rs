//! An nRF52840: a Cortex-M4F that reads handwritten digits, and logs them through a debugger.
//!
//! The model is not part of the program. It is in a partition of the flash, and its weights are read from
//! there row by row.
//!
//! *Wiring*: the USB port of a development kit next to its debugger chip, or a debug probe at SWDIO,
//! SWDCLK, VDD and GND.
//!
//! *The model*, then *the program*, whose messages come back through the debugger:
//!
//! ```text
//! probe-rs download --chip nRF52840_xxAA --binary-format bin --base-address 0x40000 \
//!     ../app/models/digits-f16.safetensors
//! cargo run --release
//! ```
//!
//! Without a debugger the program runs too, but its log is lost. No emulator has this chip:
//! `cargo xtask firmware nrf52840` builds the program.
#![no_std]
#![no_main]

mod stop;

use app::{Defmt, Event, Failure, ModelLocation, Sink, read_digits};
use core::ops::Range;
use cortex_m_rt::entry;
use defmt_rtt as _;
use embassy_nrf::config::Config;
use embassy_nrf::nvmc::{FLASH_SIZE, Nvmc};
use embedded_safetensors::io::{NorError, NorFile};
use stop::stop;

const RAM: u32 = 256 * 1024;

const FLASH: u32 = FLASH_SIZE as u32;

/// The flash that `memory.x` leaves for the model.
const MODEL: Range<u32> = 0x4_0000..FLASH;

type FlashError = NorError<embassy_nrf::nvmc::Error>;

#[entry]
fn main() -> ! {
    let flash = Nvmc::new(embassy_nrf::init(Config::default()).NVMC);
    let mut sink = Defmt;
    sink.event(&Event::Board { name: "nrf52840", cpu: "Cortex-M4F", flash: FLASH, ram: RAM });
    stop(match run(flash, &mut sink) {
        Ok(()) => 0,
        Err(failure) => failure.report(&mut sink),
    })
}

fn run(flash: Nvmc<'_>, sink: &mut impl Sink) -> Result<(), Failure<FlashError>> {
    let location = ModelLocation { name: "flash at 0x00040000", ram: RAM };
    read_digits(&location, NorFile::partition(flash, MODEL), sink, &mut ())
}
