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

/// When a stage runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// With every change: what tells whether it is right, in minutes.
    Quick,
    /// With `--deep`: what is exhaustive or slow.
    Deep,
}

/// One stage: a name to ask for it, a line about it, and what it does.
pub struct Stage {
    pub name: &'static str,
    pub about: &'static str,
    pub tier: Tier,
    pub run: fn() -> Outcome,
}

const fn quick(name: &'static str, about: &'static str, run: fn() -> Outcome) -> Stage {
    Stage { name, about, tier: Tier::Quick, run }
}

const fn deep(name: &'static str, about: &'static str, run: fn() -> Outcome) -> Stage {
    Stage { name, about, tier: Tier::Deep, run }
}

/// In the order in which they run.
pub const STAGES: [Stage; 29] = [
    quick(
        "workspace",
        "unit tests of the library, the command and the way in; documentation examples",
        suites::workspace,
    ),
    quick("no-std", "every vector on the core as firmware builds it", suites::no_std),
    quick("std", "the same on the core with `std`, and random files beside the reference", suites::std),
    quick("x86-32", "every vector where pointers have 32 bits", targets::x86_32),
    quick(
        "no-panic",
        "firmware links with an undefined panic symbol: one link per architecture",
        linking::one_level,
    ),
    quick(
        "cost",
        "stack, flash and instructions of every path within their limits, under QEMU",
        cost::measure,
    ),
    quick(
        "flash-model",
        "a model in flash: no parser, no RAM, and no build that disagrees",
        flash_model::run,
    ),
    quick("boards", "one board of each architecture reads digits under QEMU", boards::quick),
    quick(
        "identity",
        "random files and shards are those of the Python reference, byte for byte",
        identity::share,
    ),
    quick(
        "digits",
        "the networks of the firmware, and what boards make of them, are what numpy says",
        digits::judge,
    ),
    deep("suite", "all of the suite on the core as firmware builds it; the examples", suites::whole),
    deep(
        "general",
        "the suite without the parser's shortcuts, which change nothing but speed",
        suites::general,
    ),
    deep("oracle", "all of the suite again, optimised, with the reference beside it", suites::oracle),
    deep("x86-32-rest", "the other suites where pointers have 32 bits", targets::x86_32_rest),
    deep("mcu", "the core builds for microcontrollers, with each of its features", targets::microcontrollers),
    deep("links", "no panic symbol at any optimisation level, for any target", linking::no_panic),
    deep("build-time", "how long the compiler reads models, and where it complains", build_time::measure),
    deep("firmware", "every board reads digits and judges the vectors, and says what it must", boards::all),
    deep("bench", "how fast it is, beside the reference and floors in the same run", bench::judge),
    deep("counts", "the main paths take no more instructions than they did", counts::judge),
    deep(
        "size",
        "flash, RAM and instructions of one job, within their budgets and in the readme",
        size::judge,
    ),
    deep("vectors", "the committed vectors are what the generator writes", vectors::check),
    deep("numpy", "many random slices are what numpy makes of them", numpy::slices),
    deep("python", "many files and shards are those of the Python reference", identity::files),
    deep("tables", "the committed tables are what numpy and ml_dtypes say", tables::check),
    deep(
        "desktop",
        "the command agrees with Python's numpy, safetensors and huggingface_hub",
        desktop::agree,
    ),
    deep(
        "readers",
        "the results page is true, `safetensors decode` is always right, and run.py scores as the command",
        vectors::readers,
    ),
    deep("chips", "`fit` and `flash`, which need probe-rs", suites::chips),
    deep("memory", "what the command takes of memory, also for files of gigabytes", suites::memory),
];
