//! Every package below `firmware`: where it lies and what it is built for.

use super::BOARDS;
use crate::toolchain::BARE_TARGETS;

/// A package with a lockfile and, if it is a board's, a memory layout of its own.
#[derive(Clone, Copy)]
pub struct Package {
    pub folder: &'static str,
    /// The targets that it is built for.
    pub triples: &'static [&'static str],
    /// The features that it is built with, the way `--features` takes them: once with each of these.
    pub features: &'static [&'static str],
    /// Whether it has examples and tests that this machine runs.
    pub runs_here: bool,
}

/// A package for these targets, without features.
pub const fn package(folder: &'static str, triples: &'static [&'static str]) -> Package {
    Package { folder, triples, features: &[""], runs_here: false }
}

/// What is not for one board alone.
const SHARED: [Package; 4] = [
    Package { features: &["", "runtime", "bare"], ..package("firmware/board", &BARE_TARGETS) },
    Package { features: &["", "reference"], ..package("firmware/measure", &BARE_TARGETS) },
    Package {
        features: &["", "defmt", "log", "vectors", "vectors,log"],
        runs_here: true,
        ..package("firmware/app", &["thumbv7m-none-eabi"])
    },
    Package { runs_here: true, ..package("firmware/decoder", &[]) },
];

/// All packages; what boards share comes first.
pub fn packages() -> impl Iterator<Item = &'static Package> {
    SHARED.iter().chain(BOARDS.iter().map(|board| &board.package))
}
