//! The boards, the usual one of the demo first.

use super::content::{Content, Network};
use super::log::FEATURE;
use super::musts::Must;
use super::packages::{Package, package};
use super::partitions::{MANIFEST, MODEL, RECORDING, VECTORS};
use super::{Board, Card, DIGITS, FAULT, Machine, Medium, PANIC, case};
use crate::toolchain::HARD_FLOATS;

pub static BOARDS: &[Board] = &[LM3S6965, RISCV_VIRT, NETDUINOPLUS2, MICROBIT, RP2040, NRF52840, ESP32C3];

const fn arm(machine: &'static str) -> Machine {
    Machine::Qemu { program: "qemu-system-arm", package: "qemu-system-arm", machine, load: "-kernel" }
}

const FLOATS: Content = Content::Model(Network::Floats);

const LM3S6965: Board = Board {
    name: "lm3s6965",
    package: package("firmware/lm3s6965", &["thumbv7m-none-eabi"]),
    cpu: "Cortex-M3",
    flash: 256 << 10,
    ram: 64 << 10,
    shows: "a model ten times its RAM, read from a memory card with FAT32 over SPI, in 8 KiB of that RAM",
    machine: arm("lm3s6965evb"),
    hardware: &[
        "cargo build --release",
        "probe-rs run --chip LM3S6965 target/thumbv7m-none-eabi/release/digits",
    ],
    cases: &[
        case(DIGITS, "digits", 0)
            .with(card(&[("MODEL.ST", FLOATS)]))
            .must(&[Must::ReadAsHere(Network::Floats), Must::Ram(8192)]),
        case("vectors", "vectors", 0)
            .with(card(&[("MANIFEST.JSN", Content::Manifest), ("VECTORS.BIN", Content::Vectors)]))
            .must(&[Must::JudgeAsHere]),
        case("no-vectors", "vectors", 2).with(card(&[("MANIFEST.JSN", Content::Manifest)])),
        case("no-card", "digits", 2).with(Medium::Card(Card::Missing)),
        case("empty-card", "digits", 2).with(Medium::Card(Card::Empty)),
        case("no-model", "digits", 2).with(card(&[])),
        case("corrupt-model", "digits", 1).with(card(&[("MODEL.ST", Content::Corrupt(Network::Floats))])),
        case("cut-model", "digits", 1).with(card(&[("MODEL.ST", Content::Cut(Network::Floats))])),
        case("wrong-model", "digits", 3).with(card(&[("MODEL.ST", Content::Model(Network::Integers))])),
        case("pulled", "pulled", 2).with(card(&[("MODEL.ST", FLOATS)])),
        case("panics", "panics", PANIC),
        case("faults", "faults", FAULT),
    ],
};

const fn card(files: &'static [(&'static str, Content)]) -> Medium {
    Medium::Card(Card::Holding(files))
}

const NETDUINOPLUS2: Board = Board {
    name: "netduinoplus2",
    package: Package { features: &["", FEATURE], ..package("firmware/netduinoplus2", &[HARD_FLOATS]) },
    cpu: "Cortex-M4F",
    flash: 1 << 20,
    ram: 128 << 10,
    shows: "a model in a partition of the chip's own flash, with floats in hardware",
    machine: arm("netduinoplus2"),
    hardware: &[
        "probe-rs download --chip STM32F405RGTx --binary-format bin --base-address 0x08040000 ../app/models/digits-f16.safetensors",
        "cargo build --release",
        "probe-rs run --chip STM32F405RGTx target/thumbv7em-none-eabihf/release/digits",
    ],
    cases: &[
        case(DIGITS, "digits", 0)
            .with(Medium::Flash(0x0804_0000, FLOATS))
            .must(&[Must::ReadAsHere(Network::Floats), Must::HaveNoLog]),
        case("corrupt", "digits", 1).with(Medium::Flash(0x0804_0000, Content::Corrupt(Network::Floats))),
        case("log", "digits", 0)
            .with(Medium::Flash(0x0804_0000, FLOATS))
            .must(&[Must::ReadAsHere(Network::Floats)])
            .logged(),
        case("log-corrupt", "digits", 1)
            .with(Medium::Flash(0x0804_0000, Content::Corrupt(Network::Floats)))
            .logged(),
        case("log-sentences", "sentences", 0).must(&[Must::LogAsPrinted]).logged(),
    ],
};

const MICROBIT: Board = Board {
    name: "microbit",
    package: package("firmware/microbit", &["thumbv6m-none-eabi"]),
    cpu: "Cortex-M0",
    flash: 256 << 10,
    ram: 16 << 10,
    shows: "a model in the program, found by the compiler: no parser on the device",
    machine: arm("microbit"),
    hardware: &[
        "cargo build --release",
        "probe-rs run --chip nRF51822_xxAA target/thumbv6m-none-eabi/release/digits",
    ],
    cases: &[
        case(DIGITS, "digits", 0)
            .must(&[Must::ReadAsHere(Network::Integers), Must::NoParser(Network::Integers, "parsed")]),
        case("parsed", "parsed", 0).must(&[Must::ReadAsHere(Network::Integers)]),
    ],
};

const RISCV_VIRT: Board = Board {
    name: "riscv-virt",
    package: package("firmware/riscv-virt", &["riscv32imc-unknown-none-elf"]),
    cpu: "RV32IMC",
    flash: 1 << 20,
    ram: 16 << 10,
    shows: "a model in NOR flash, and what the network does recorded in the same flash, as a file for the host",
    machine: Machine::Qemu {
        program: "qemu-system-riscv32",
        package: "qemu-system-misc",
        machine: "virt",
        // With a program of its own, but without firmware before it.
        load: "-bios",
    },
    hardware: &[],
    cases: &[
        case(DIGITS, "digits", 0)
            .with(Medium::Nor(&[(MODEL.start, FLOATS)]))
            .must(&[Must::ReadAsHere(Network::Floats), Must::Record(Network::Floats, RECORDING.start)]),
        case("vectors", "vectors", 0)
            .with(Medium::Nor(&[(MANIFEST.start, Content::Manifest), (VECTORS.start, Content::Vectors)]))
            .must(&[Must::JudgeAsHere]),
        case("wrong-manifest", "vectors", 1).with(Medium::Nor(&[
            (MANIFEST.start, Content::WrongManifest),
            (VECTORS.start, Content::Vectors),
        ])),
        case("no-manifest", "vectors", 2).with(Medium::Nor(&[])),
        case("erased", "digits", 2).with(Medium::Nor(&[])),
        case("corrupt", "digits", 1).with(Medium::Nor(&[(MODEL.start, Content::Corrupt(Network::Floats))])),
        case("wrong-model", "digits", 3)
            .with(Medium::Nor(&[(MODEL.start, Content::Model(Network::Integers))])),
        case("protected", "digits", 2).with(Medium::Protected(&[(MODEL.start, FLOATS)])),
        case("panics", "panics", PANIC),
        case("faults", "faults", FAULT),
    ],
};

const RP2040: Board = Board {
    name: "rp2040",
    package: package("firmware/rp2040", &["thumbv6m-none-eabi"]),
    cpu: "Cortex-M0+",
    flash: 2 << 20,
    ram: 264 << 10,
    shows: "a Raspberry Pi Pico: a model in flash that the chip maps, proven when the program starts and read in place",
    machine: Machine::Rp2040js { folder: "emulator" },
    hardware: &[
        "probe-rs download --chip RP2040 --binary-format bin --base-address 0x10100000 ../app/models/digits-i8.safetensors",
        "cargo build --release",
        "probe-rs run --chip RP2040 target/thumbv6m-none-eabi/release/digits",
    ],
    cases: &[
        case(DIGITS, "digits", 0)
            .with(Medium::Flash(0x1010_0000, Content::Model(Network::Integers)))
            .must(&[Must::ReadAsHere(Network::Integers)]),
        case("erased", "digits", 2),
        case("corrupt", "digits", 1).with(Medium::Flash(0x1010_0000, Content::Corrupt(Network::Integers))),
        case("wrong-model", "digits", 3).with(Medium::Flash(0x1010_0000, FLOATS)),
    ],
};

const NRF52840: Board = Board {
    name: "nrf52840",
    package: package("firmware/nrf52840", &[HARD_FLOATS]),
    cpu: "Cortex-M4F",
    flash: 1 << 20,
    ram: 256 << 10,
    shows: "a model in a partition of the chip's own flash; what is read is logged through the debugger, by defmt",
    machine: Machine::Unicorn { folder: "emulator" },
    hardware: &[
        "probe-rs download --chip nRF52840_xxAA --binary-format bin --base-address 0x40000 ../app/models/digits-f16.safetensors",
        "cargo run --release",
    ],
    cases: &[
        case(DIGITS, "digits", 0)
            .with(Medium::Flash(0x4_0000, FLOATS))
            .must(&[Must::ReadAsHere(Network::Floats)]),
        case("erased", "digits", 2),
        case("corrupt", "digits", 1).with(Medium::Flash(0x4_0000, Content::Corrupt(Network::Floats))),
    ],
};

const ESP32C3: Board = Board {
    name: "esp32c3",
    package: package("firmware/esp32c3", &["riscv32imc-unknown-none-elf"]),
    cpu: "RV32IMC",
    flash: 4 << 20,
    ram: 400 << 10,
    shows: "a model in the partition of the flash that the table of partitions calls `model`",
    machine: Machine::Hardware,
    hardware: &["espflash write-bin 0x110000 ../app/models/digits-f16.safetensors", "cargo run --release"],
    cases: &[case(DIGITS, "digits", 0)],
};
