//! An ESP32-C3: a RISC-V processor without floating-point hardware that reads handwritten digits with
//! floats.
//!
//! The model is not part of the program. It is in the flash partition named `model` in the partition table,
//! and its weights are read from there row by row.
//!
//! *Wiring*: the USB port of the board, or a serial adapter at U0TXD and U0RXD (GPIO21 and GPIO20), 115200
//! baud.
//!
//! *The program and the partition table*, after `cargo build --release`; then *the model*, at the offset of
//! its partition:
//!
//! ```text
//! cargo run --release
//! espflash write-bin 0x110000 ../app/models/digits-f16.safetensors --chip esp32c3 --monitor
//! ```
//!
//! *Without a board*: `cargo xtask firmware esp32c3`, on an emulated chip with an emulated debugger.
#![no_std]
#![no_main]

mod partition;

use app::{Event, Failure, ModelLocation, Sink, Text, read_digits};
use board::Panic;
use core::panic::PanicInfo;
use esp_bootloader_esp_idf::esp_app_desc;
use esp_hal::Config;
use esp_hal::clock::CpuClock;
use esp_hal::debugger::debugger_connected;
use esp_println::{Printer, println};
use esp_storage::FlashStorage;
use partition::FlashError;

/// All of its RAM, including that of the cache.
const RAM: u32 = 400 * 1024;

/// The exit code of a panic; CPU faults panic, too.
const PANIC: u8 = 101;

esp_app_desc!();

#[esp_hal::main]
fn main() -> ! {
    let peripherals = esp_hal::init(Config::default().with_cpu_clock(CpuClock::max()));
    let mut flash = FlashStorage::new(peripherals.FLASH);
    let mut sink = Text(Printer);
    let bytes = partition::flash_bytes(&flash);
    sink.event(&Event::Board { name: "esp32c3", cpu: "RV32IMC", flash: bytes, ram: RAM });
    stop(match run(&mut flash, &mut sink) {
        Ok(()) => 0,
        Err(failure) => failure.report(&mut sink),
    })
}

fn run(flash: &mut FlashStorage<'_>, sink: &mut impl Sink) -> Result<(), Failure<FlashError>> {
    let mut region = partition::find(flash, "model").map_err(Failure::NoModel)?;
    let storage = partition::file(&mut region).map_err(Failure::NoModel)?;
    let location = ModelLocation { name: "the partition `model`", ram: RAM };
    read_digits(&location, storage, sink, &mut ()).map_err(|failure| failure.map(FlashError::Flash))
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    println!("{}", Panic(info));
    stop(PANIC)
}

/// Ends the program, with an exit code if a debugger is attached.
fn stop(code: u8) -> ! {
    if debugger_connected() {
        board::exit(code.into());
    }
    loop {
        core::hint::spin_loop();
    }
}
