//! The stages of `cargo xtask test`.

mod cost;
mod firmware;
mod headers;
mod linking;
mod suites;
mod targets;
mod vectors;

use crate::report::Outcome;

pub use vectors::generate as generate_vectors;

/// One stage: a name to ask for it, a line about it, and what it does.
pub struct Stage {
    pub name: &'static str,
    pub about: &'static str,
    pub run: fn() -> Outcome,
}

/// In the order in which they run: the quick and telling ones first.
pub const STAGES: [Stage; 10] = [
    Stage {
        name: "workspace",
        about: "unit tests of all packages, documentation examples",
        run: suites::workspace,
    },
    Stage {
        name: "no-std",
        about: "the verification suite on the core as firmware builds it",
        run: suites::no_std,
    },
    Stage { name: "std", about: "the same suite on the core with its `std` feature", run: suites::std },
    Stage { name: "mcu", about: "the core builds for microcontrollers", run: targets::microcontrollers },
    Stage {
        name: "no-panic",
        about: "firmware links with a panic handler that cannot link",
        run: linking::no_panic,
    },
    Stage { name: "cost", about: "stack, flash and instructions, measured under QEMU", run: cost::measure },
    Stage {
        name: "x86-32",
        about: "the conformance suite on a machine with 32-bit pointers",
        run: targets::x86_32,
    },
    Stage {
        name: "oracle",
        about: "everything again, optimised, with the reference beside it",
        run: suites::oracle,
    },
    Stage {
        name: "vectors",
        about: "the committed vectors are what the generator writes",
        run: vectors::check,
    },
    Stage {
        name: "python",
        about: "the Python reference, the results page, the runner",
        run: vectors::python,
    },
];
