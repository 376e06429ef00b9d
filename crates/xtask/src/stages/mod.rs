//! The stages of `cargo xtask test`.

mod build_script;
mod build_time;
mod c_api;
mod c_boards;
mod flash_model;
mod linking;
mod needs;
mod page_commands;
pub mod pages;
mod report;
mod results;
mod scratch;
mod suites;
mod targets;

use crate::report::Outcome;
use crate::{boards, measure, python};
use needs::Need;

pub use suites::{command, release_command, write_vectors};

/// When a stage runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// With every change, in minutes: tests whether the change is right.
    Quick,
    /// With `--deep`: exhaustive or slow.
    Deep,
}

/// A stage: its name, a one-line description, its needs, and its function.
pub struct Stage {
    pub name: &'static str,
    pub about: &'static str,
    pub tier: Tier,
    needs: &'static [Need],
    run: fn() -> Outcome,
}

impl Stage {
    /// Sets up all needs, and returns a sentence for each that is missing.
    pub fn set_up(&self) -> Vec<String> {
        self.needs.iter().flat_map(|need| need.set_up()).collect()
    }

    /// Runs the stage; its needs must be set up.
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

/// The stages in the order in which they run.
pub const STAGES: [Stage; 37] = [
    quick(
        "workspace",
        "unit tests of the library, the command and xtask; documentation examples",
        suites::workspace,
    ),
    quick("no-std", "every vector, with the library as firmware builds it", suites::no_std),
    quick("std", "the same with `std`, and random files compared with the reference", suites::std),
    quick("x86-32", "every vector with 32-bit pointers", targets::x86_32).needs(&[Need::X86]),
    quick(
        "no-panic",
        "firmware links with an undefined panic symbol: one link per architecture",
        linking::one_level,
    )
    .needs(&[Need::Emulators]),
    quick(
        "cost",
        "limits of flash, RAM, stack and instructions of every path, under QEMU",
        measure::judge_quickly,
    )
    .needs(&[Need::Emulators]),
    quick(
        "flash-model",
        "a model in flash: no parser, no RAM; builds that contradict the model fail",
        flash_model::run,
    )
    .needs(&[Need::Emulators]),
    quick(
        "boards",
        "boards read digits and files of other projects under QEMU; the minimal programs run",
        boards::quick,
    )
    .needs(&[Need::QuickBoards]),
    quick(
        "c",
        "the C API: vectors, wrong models, mistakes of callers, round trips; with sanitizers",
        c_api::quick,
    )
    .needs(&[Need::Sanitizers("gcc", "gcc"), Need::Program("g++", "g++")]),
    deep("suite", "the entire suite, with the library as firmware builds it; the examples", suites::whole),
    deep("oracle", "the entire suite again, optimised, compared with the reference", suites::oracle),
    deep("all-x86-32", "the entire suite with 32-bit pointers", targets::all_x86_32).needs(&[Need::X86]),
    deep(
        "mcu",
        "the library builds for Cortex-M0+, M3, M4, M7, M33 and RISC-V, with each of its features",
        targets::microcontrollers,
    )
    .needs(&[Need::Microcontrollers, Need::MoreMicrocontrollers]),
    deep("msrv", "the libraries compile with the oldest Rust that they promise", targets::with_oldest_rust)
        .needs(&[Need::OldestRust]),
    deep("c-all", "the C API with clang, all standards of C and C++, 32-bit pointers and CMake", c_api::all)
        .needs(&[
            Need::Sanitizers("gcc", "gcc"),
            Need::Program("g++", "g++"),
            Need::Sanitizers("clang", "clang"),
            Need::Program("cmake", "cmake"),
            Need::X86,
            Need::Emulators,
        ]),
    deep("guide", "the guide builds, with a page for each chapter", targets::guide)
        .needs(&[Need::CargoProgram("mdbook", "mdbook@0.4.52")]),
    deep("commands", "the shell and Python blocks of the pages do what they say", page_commands::run)
        .needs(&[Need::QuickBoards, Need::Python("main")]),
    deep("report", "the page of `safetensors report` in a browser, without network and scripts", report::run)
        .needs(&[Need::Program("chromium", "chromium")]),
    deep("links", "no panic symbol at any optimisation level, for any target", linking::no_panic)
        .needs(&[Need::Microcontrollers]),
    deep("flash-rest", "a model in flash on all other targets", flash_model::rest)
        .needs(&[Need::Microcontrollers, Need::Emulators]),
    deep(
        "build-time",
        "build times of models in flash, and when the compiler's lint warns",
        build_time::measure,
    ),
    deep(
        "declaration",
        "a program whose `build.rs` declares its model: it follows the model",
        build_script::run,
    ),
    deep(
        "firmware",
        "every board behaves as its manifest says: digits, vectors, bad storage, wrong models",
        boards::all,
    )
    .needs(&[Need::Boards]),
    deep(
        "c-boards",
        "the C API on an emulated Cortex-M3 and RV32: the example, the vectors, wrong models",
        c_boards::run,
    )
    .needs(&[Need::CBoards]),
    deep("bench", "times, beside the reference and floors in the same run", measure::judge_speed),
    deep("formats", "one vector in several common formats", measure::compare_formats),
    deep(
        "counts",
        "limits of instructions, heap and memory of the main paths on a desktop",
        measure::judge_desktop,
    )
    .needs(&[Need::Program("valgrind", "valgrind"), Need::Program("taskset", "util-linux")]),
    deep(
        "all-costs",
        "as `cost`, at every level and beside the reference; the pages with the figures",
        measure::judge_firmware,
    )
    .needs(&[Need::Microcontrollers, Need::Emulators]),
    deep("vectors", "the committed vectors match the generator", suites::vectors),
    deep("results", "the page with the results of readers, in a browser without network", results::run)
        .needs(&[Need::Program("chromium", "chromium")]),
    deep(
        "python",
        "the Python package, and what others read and write: numpy, the reference, gguf-py, huggingface.js",
        || python::pytest("main"),
    )
    .needs(&[
        Need::Python("main"),
        Need::Program("nginx", "nginx-light"),
        Need::Program("openssl", "openssl"),
        Need::Program("node", "nodejs"),
        Need::Program("npm", "npm"),
    ]),
    deep("torch", "files of PyTorch, what `scan` finds, and the reference's own Python tests", || {
        python::pytest("torch")
    })
    .needs(&[Need::Python("torch"), Need::Python("main")]),
    deep("tensorflow", "checkpoints of TensorFlow are read as it reads them", || {
        python::pytest("tensorflow")
    })
    .needs(&[Need::Python("tensorflow"), Need::Python("main")]),
    deep("tables", "what scripts of Python have generated is as they generate it", python::generated)
        .needs(&[Need::Python("main")]),
    deep("chips", "`fit` and `flash`, which need probe-rs", suites::chips),
    deep("casts", "every F32 becomes the F16 and the BF16 that the scalar code makes of it", suites::casts),
    deep("memory", "memory of the command, also for files of gigabytes", suites::memory),
];
