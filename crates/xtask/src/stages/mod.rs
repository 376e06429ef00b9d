//! The stages of `cargo xtask test`.

mod build_script;
mod c_api;
mod c_boards;
mod linking;
mod needs;
mod page_commands;
pub mod python_package;
mod remote;
mod report;
mod results;
mod scratch;
mod scripts;
mod suites;
mod targets;

use crate::report::Outcome;
use crate::{boards, measure};
use needs::Need;
use scripts::{READERS, SCANNERS, STRUCTURES, TRAINING};

pub use scripts::{CONVERSIONS, TESTS, write_results, write_tables, write_vectors};
pub use suites::{command, release_command};

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
pub const STAGES: [Stage; 44] = [
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
        "boards",
        "boards read digits and files of other projects under QEMU; the minimal programs run",
        boards::quick,
    )
    .needs(&[Need::QuickBoards]),
    quick(
        "identity",
        "random files and shards match the Python reference, byte for byte",
        scripts::some_files,
    )
    .needs(&[Need::Python(TESTS)]),
    quick(
        "c",
        "the C API: vectors, wrong models, mistakes of callers, round trips; with sanitizers",
        c_api::quick,
    )
    .needs(&[Need::Sanitizers("gcc", "gcc"), Need::Program("g++", "g++")]),
    quick("python-package", "the Python package: vectors, arrays, files", python_package::own)
        .needs(&[Need::Python(python_package::OWN)]),
    quick("digits", "the firmware's networks and the boards' answers match numpy", scripts::digits)
        .needs(&[Need::Python(TRAINING)]),
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
        .needs(&[Need::QuickBoards, Need::Python(TESTS)]),
    deep("report", "the page of `safetensors report` in a browser, without network and scripts", report::run)
        .needs(&[Need::Program("chromium", "chromium")]),
    deep("links", "no panic symbol at any optimisation level, for any target", linking::no_panic)
        .needs(&[Need::Microcontrollers]),
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
    deep(
        "costs",
        "limits of flash, RAM and instructions, under QEMU and on a desktop; the pages with them",
        || measure::costs(false),
    )
    .needs(&[Need::Emulators, Need::Program("valgrind", "valgrind")]),
    deep("vectors", "the committed vectors match the generator", scripts::vectors),
    deep(
        "mutants",
        "the vectors catch every bug of a small reader that changes one of 100,000 files",
        scripts::mutants,
    ),
    deep(
        "python",
        "many files and shards match the Python reference, and many slices match numpy",
        scripts::all,
    )
    .needs(&[Need::Python(TESTS)]),
    deep(
        "python-reference",
        "the Python package with torch, and the reference's own Python tests",
        python_package::reference,
    )
    .needs(&[Need::Torch(python_package::REFERENCE)]),
    deep(
        "python-frameworks",
        "the Python package with JAX, MLX, Paddle and TensorFlow",
        python_package::frameworks,
    )
    .needs(&[Need::Frameworks]),
    deep("tables", "the committed tables match numpy and ml_dtypes", scripts::tables)
        .needs(&[Need::Python(TESTS)]),
    deep("pytorch", "conversions of files of PyTorch match torch, bit for bit", scripts::pytorch)
        .needs(&[Need::DebianTorch]),
    deep(
        "tensorflow",
        "conversions of checkpoints match TensorFlow, bit for bit",
        python_package::checkpoints,
    )
    .needs(&[Need::Framework("tensorflow")]),
    deep("gguf", "conversions of GGUF match gguf-py, bit for bit", scripts::gguf)
        .needs(&[Need::Python(CONVERSIONS)]),
    deep("scanners", "`scan` finds what picklescan and fickling find", scripts::scanners)
        .needs(&[Need::Torch(SCANNERS)]),
    deep("quantised", "products with quantised matrices match numpy, to the last bit", scripts::quantised)
        .needs(&[Need::Python(TESTS)]),
    deep(
        "structures",
        "files of Python's safestructures, and one that the library writes",
        scripts::structures,
    )
    .needs(&[Need::Python(STRUCTURES)]),
    deep("aprender", "a regression of the crate aprender, and the round trip", scripts::aprender),
    deep(
        "desktop",
        "the command agrees with Python's numpy, safetensors and huggingface_hub",
        scripts::desktop,
    )
    .needs(&[Need::Python(TESTS)]),
    deep(
        "readers",
        "the results pages are right, `safetensors decode` is right, and run.py scores like the command",
        scripts::readers,
    )
    .needs(&[
        Need::Torch(READERS),
        Need::Python(TESTS),
        Need::Program("node", "nodejs"),
        Need::Program("npm", "npm"),
        Need::Sanitizers("gcc", "gcc"),
        Need::Sanitizers("g++", "g++"),
        Need::Program("go", "golang-go"),
        Need::Program("javac", "default-jdk-headless"),
    ]),
    deep("results", "the page with the results of readers, in a browser without network", results::run)
        .needs(&[Need::Program("chromium", "chromium")]),
    deep("remote", "models on nginx with TLS, and their parameters beside huggingface.js", remote::run)
        .needs(&[
            Need::Program("nginx", "nginx-light"),
            Need::Program("openssl", "openssl"),
            Need::Program("python3", "python3"),
            Need::Program("node", "nodejs"),
            Need::Program("npm", "npm"),
        ]),
    deep("chips", "`fit` and `flash`, which need probe-rs", suites::chips),
    deep("casts", "every F32 becomes the F16 and the BF16 that the scalar code makes of it", suites::casts),
    deep("memory", "memory of the command, also for files of gigabytes", suites::memory),
];
