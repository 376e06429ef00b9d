//! The suites that cargo runs on this machine.
//!
//! The verification package always runs alone: in one build with the host program, cargo would unify
//! the core's features, and the suite would quietly test only the `std` build.

use crate::report::Outcome;
use crate::toolchain::own_cargo;

pub fn workspace() -> Outcome {
    cargo_test(&["--workspace", "--exclude", "verification"])
}

pub fn no_std() -> Outcome {
    cargo_test(&["--package", "verification"])
}

pub fn std() -> Outcome {
    cargo_test(&["--package", "verification", "--features", "std"])
}

pub fn oracle() -> Outcome {
    cargo_test(&["--release", "--package", "verification", "--features", "oracle"])
}

fn cargo_test(args: &[&str]) -> Outcome {
    own_cargo().args(["test", "--quiet", "--no-fail-fast"]).args(args).tests()
}
