//! Every package below `firmware`: where it lies and what it is built for.

use crate::toolchain::{BARE_TARGETS, HARD_FLOATS};

/// A package with a lockfile and, if it is a board's, a memory layout of its own.
pub struct Package {
    pub folder: &'static str,
    /// The targets that it is built for.
    pub triples: &'static [&'static str],
    /// The features that it is built with, the way `--features` takes them: once with each of these.
    pub features: &'static [&'static str],
    /// Whether it has examples and tests that this machine runs.
    pub runs_here: bool,
}

const fn package(folder: &'static str, triples: &'static [&'static str]) -> Package {
    Package { folder, triples, features: &[""], runs_here: false }
}

/// What boards share comes before them.
pub const PACKAGES: [Package; 4] = [
    Package { features: &["", "runtime"], ..package("firmware/board", &BARE_TARGETS) },
    package("firmware/linkcheck", &BARE_TARGETS),
    package("firmware/netduinoplus2", &[HARD_FLOATS]),
    package("firmware/riscv-virt", &["riscv32imc-unknown-none-elf"]),
];
