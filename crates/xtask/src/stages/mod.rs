//! The stages of `cargo xtask test`.

mod bench;
mod build_time;
mod cost;
mod desktop;
mod digits;
mod firmware;
mod flash_model;
mod identity;
mod linking;
mod numpy;
mod readme;
mod scratch;
mod size;
mod suites;
mod tables;
mod targets;
mod vectors;

use crate::report::Outcome;
use crate::{boards, counts};

pub use cost::{Asked, Header, Machine, asked};
pub use firmware::{CORTEX_M3, Firmware, RISC_V};
pub use size::Size;
pub use tables::generate as generate_tables;
pub use vectors::generate as generate_vectors;

/// One stage: a name to ask for it, a line about it, and what it does.
pub struct Stage {
    pub name: &'static str,
    pub about: &'static str,
    pub run: fn() -> Outcome,
}

const fn stage(name: &'static str, about: &'static str, run: fn() -> Outcome) -> Stage {
    Stage { name, about, run }
}

/// In the order in which they run: the quick and telling ones first.
pub const STAGES: [Stage; 22] = [
    stage("workspace", "unit tests of all packages, documentation examples", suites::workspace),
    stage("no-std", "the verification suite on the core as firmware builds it", suites::no_std),
    stage("std", "the same suite on the core with its `std` feature", suites::std),
    stage("general", "and without the parser's shortcuts, which change nothing but speed", suites::general),
    stage("mcu", "the core builds for microcontrollers", targets::microcontrollers),
    stage("no-panic", "firmware links with a panic handler that cannot link", linking::no_panic),
    stage(
        "flash-model",
        "a model in flash: no parser, no RAM, and no build that disagrees",
        flash_model::run,
    ),
    stage("build-time", "how long the compiler reads models, and where it complains", build_time::measure),
    stage("firmware", "every board reads digits and says what it must", boards::all),
    stage("cost", "stack, flash and instructions, measured under QEMU", cost::measure),
    stage("bench", "how fast it is, beside the reference and floors in the same run", bench::judge),
    stage("counts", "the main paths take no more instructions than they did", counts::judge),
    stage(
        "size",
        "flash, RAM and instructions of one job, within their budgets and in the readme",
        size::judge,
    ),
    stage("x86-32", "the conformance suite where pointers have 32 bits", targets::x86_32),
    stage("oracle", "everything again, optimised, with the reference beside it", suites::oracle),
    stage("numpy", "random slices are what numpy makes of them", numpy::slices),
    stage("identity", "files and shards are those of the Python reference, byte for byte", identity::files),
    stage(
        "digits",
        "the networks of the firmware, and what boards make of them, are what numpy says",
        digits::judge,
    ),
    stage("vectors", "the committed vectors are what the generator writes", vectors::check),
    stage("tables", "the committed tables are what numpy and ml_dtypes say", tables::check),
    stage(
        "desktop",
        "the command agrees with Python's numpy, safetensors and huggingface_hub",
        desktop::agree,
    ),
    stage("readers", "the results page is true; `safetensors decode` is always right", vectors::readers),
];
