//! The stages of `cargo xtask test`.

mod build_time;
mod flash_model;
mod linking;
mod needs;
pub mod pages;
mod scratch;
mod scripts;
mod suites;
mod targets;

use crate::report::Outcome;
use crate::{boards, measure};
use needs::Need;
use scripts::{READERS, TESTS, TRAINING};

pub use scripts::{write_tables, write_vectors};
pub use suites::{command, release_command};

/// When a stage runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// With every change: what tells whether it is right, in minutes.
    Quick,
    /// With `--deep`: what is exhaustive or slow.
    Deep,
}

/// One stage: a name to ask for it, a line about it, what it needs, and what it does.
pub struct Stage {
    pub name: &'static str,
    pub about: &'static str,
    pub tier: Tier,
    needs: &'static [Need],
    run: fn() -> Outcome,
}

impl Stage {
    /// Sets up all that it needs, and gives a sentence for each thing that is missing.
    pub fn set_up(&self) -> Vec<String> {
        self.needs.iter().flat_map(|need| need.set_up()).collect()
    }

    /// What it needs has been set up.
    pub fn run(&self) -> Outcome {
        (self.run)()
    }

    const fn needs(mut self, needs: &'static [Need]) -> Self {
        self.needs = needs;
        self
    }
}

const fn quick(name: &'static str, about: &'static str, run: fn() -> Outcome) -> Stage {
    Stage { name, about, tier: Tier::Quick, needs: &[], run }
}

const fn deep(name: &'static str, about: &'static str, run: fn() -> Outcome) -> Stage {
    Stage { name, about, tier: Tier::Deep, needs: &[], run }
}

/// In the order in which they run.
pub const STAGES: [Stage; 29] = [
    quick(
        "workspace",
        "unit tests of the library, the command and xtask; documentation examples",
        suites::workspace,
    ),
    quick("no-std", "every vector on the core as firmware builds it", suites::no_std),
    quick("std", "the same on the core with `std`, and random files beside the reference", suites::std),
    quick("x86-32", "every vector where pointers have 32 bits", targets::x86_32).needs(&[Need::X86]),
    quick(
        "no-panic",
        "firmware links with an undefined panic symbol: one link per architecture",
        linking::one_level,
    )
    .needs(&[Need::Emulators]),
    quick(
        "cost",
        "flash, RAM, stack and instructions of every path within their limits, under QEMU",
        measure::judge_quickly,
    )
    .needs(&[Need::Emulators]),
    quick(
        "flash-model",
        "a model in flash: no parser, no RAM, and no build that disagrees",
        flash_model::run,
    )
    .needs(&[Need::Emulators]),
    quick(
        "boards",
        "one board of each architecture reads digits under QEMU; the minimal programs run",
        boards::quick,
    )
    .needs(&[Need::QuickBoards]),
    quick(
        "identity",
        "random files and shards are those of the Python reference, byte for byte",
        scripts::some_files,
    )
    .needs(&[Need::Python(TESTS)]),
    quick(
        "digits",
        "the networks of the firmware, and what boards make of them, are what numpy says",
        scripts::digits,
    )
    .needs(&[Need::Python(TRAINING)]),
    deep("suite", "all of the suite on the core as firmware builds it; the examples", suites::whole),
    deep("oracle", "all of the suite again, optimised, with the reference beside it", suites::oracle),
    deep("all-x86-32", "all of the suite where pointers have 32 bits", targets::all_x86_32)
        .needs(&[Need::X86]),
    deep("mcu", "the core builds for microcontrollers, with each of its features", targets::microcontrollers)
        .needs(&[Need::Microcontrollers]),
    deep("links", "no panic symbol at any optimisation level, for any target", linking::no_panic)
        .needs(&[Need::Microcontrollers]),
    deep("flash-rest", "a model in flash on all other targets", flash_model::rest)
        .needs(&[Need::Microcontrollers, Need::Emulators]),
    deep("build-time", "how long the compiler reads models, and where it complains", build_time::measure),
    deep(
        "firmware",
        "every board does what its manifest says: digits, vectors, bad storage, or only a build",
        boards::all,
    )
    .needs(&[Need::Boards]),
    deep("bench", "how fast it is, beside the reference and floors in the same run", measure::judge_speed),
    deep("formats", "one vector in the formats that the field compares", measure::compare_formats),
    deep(
        "counts",
        "the main paths of a desktop take no more instructions, heap and memory than they did",
        measure::judge_desktop,
    )
    .needs(&[Need::Program("valgrind", "valgrind"), Need::Program("taskset", "util-linux")]),
    deep(
        "all-costs",
        "the same as cost at every level and beside the reference; the pages that show it",
        measure::judge_firmware,
    )
    .needs(&[Need::Microcontrollers, Need::Emulators]),
    deep("vectors", "the committed vectors are what the generator writes", scripts::vectors),
    deep(
        "python",
        "many files and shards are those of the Python reference, and many slices are numpy's",
        scripts::all,
    )
    .needs(&[Need::Python(TESTS)]),
    deep("tables", "the committed tables are what numpy and ml_dtypes say", scripts::tables)
        .needs(&[Need::Python(TESTS)]),
    deep(
        "desktop",
        "the command agrees with Python's numpy, safetensors and huggingface_hub",
        scripts::desktop,
    )
    .needs(&[Need::Python(TESTS)]),
    deep(
        "readers",
        "the results page is true, `safetensors decode` is always right, and run.py scores as the command",
        scripts::readers,
    )
    .needs(&[Need::Python(READERS)]),
    deep("chips", "`fit` and `flash`, which need probe-rs", suites::chips),
    deep("memory", "what the command takes of memory, also for files of gigabytes", suites::memory),
];
