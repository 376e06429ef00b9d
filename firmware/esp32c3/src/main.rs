//! An ESP32-C3: a RISC-V processor without floats that reads handwritten digits all the same.
//!
//! The model is no part of the program. It has a partition of the flash that is called `model`, wherever the table of
//! partitions has it, and its weights come from there row by row.
//!
//! *Wiring*: the USB port of the board, or a serial adapter at U0TXD and U0RXD (GPIO21 and GPIO20), 115200 baud.
//!
//! *The program and the table of partitions*, after `cargo build --release`; then *the model*, to where the table has its
//! partition:
//!
//! ```text
//! cargo run --release
//! espflash write-bin 0x110000 ../app/models/digits-f16.safetensors --chip esp32c3 --monitor
//! ```
#![no_std]
#![no_main]

mod partition;

use app::{Event, Failure, Place, Sink, Text, read_digits};
use board::Panic;
use core::panic::PanicInfo;
use esp_bootloader_esp_idf::esp_app_desc;
use esp_hal::Config;
use esp_hal::clock::CpuClock;
use esp_println::{Printer, println};
use esp_storage::FlashStorage;
use partition::Trouble;

/// All of its RAM, that of the cache included.
const RAM: u32 = 400 * 1024;

esp_app_desc!();

#[esp_hal::main]
fn main() -> ! {
    let peripherals = esp_hal::init(Config::default().with_cpu_clock(CpuClock::max()));
    let mut flash = FlashStorage::new(peripherals.FLASH);
    let mut sink = Text(Printer);
    let bytes = partition::flash_bytes(&flash);
    sink.event(&Event::Board { name: "esp32c3", cpu: "RV32IMC", flash: bytes, ram: RAM });
    if let Err(failure) = run(&mut flash, &mut sink) {
        // Nobody takes the exit code.
        failure.tell(&mut sink);
    }
    stop()
}

fn run(flash: &mut FlashStorage<'_>, sink: &mut impl Sink) -> Result<(), Failure<Trouble>> {
    let mut region = partition::find(flash, "model").map_err(Failure::NoModel)?;
    let storage = partition::file(&mut region).map_err(Failure::NoModel)?;
    let place = Place { name: "the partition `model`", ram: RAM };
    read_digits(&place, storage, sink, &mut ()).map_err(|failure| failure.map(Trouble::Flash))
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    println!("{}", Panic(info));
    stop()
}

/// There is nobody to take an exit code.
fn stop() -> ! {
    loop {
        core::hint::spin_loop();
    }
}
