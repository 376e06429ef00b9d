//! The suites that cargo runs on this machine.
//!
//! The verification package always runs alone: in one build with the host program, cargo would unify
//! the core's features, and the suite would quietly test only the `std` build.

use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::workspace;

/// The suite on the core with its `std` feature.
const STD: &[&str] = &["--package", "verification", "--features", "std"];
/// The core's own tests, with all features that add code to it.
const CORE: &[&str] = &["--package", "embedded-safetensors", "--features", "shards,checkpoint", "--lib"];

pub fn workspace() -> Outcome {
    let mut tally = cargo_test(&["--workspace", "--exclude", "verification"])?;
    // Some examples of the documentation, and what is logged, use features that no other package turns on.
    for suite in [&["--doc"][..], &["--test", "formats"]] {
        let package = ["--package", "embedded-safetensors", "--all-features"];
        tally.add(cargo_test(&[&package, suite].concat())?);
    }
    tally.add(cargo_test(CORE)?);
    Ok(tally)
}

pub fn no_std() -> Outcome {
    cargo_test(&["--package", "verification"])
}

pub fn std() -> Outcome {
    cargo_test(STD)
}

pub fn oracle() -> Outcome {
    let args = ["--release", "--package", "verification", "--features", "oracle"];
    match seed_of_commit() {
        Some(seed) => test().args(args).env("DIFFERENTIAL_SEED", seed).tests(),
        None => test().args(args).tests(),
    }
}

/// The suite of [`std`] with the parser's shortcuts switched off, and the core's own tests. A target directory of its own keeps the other
/// builds.
pub fn general() -> Outcome {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default() + " --cfg safetensors_general";
    let mut tally = Tally::default();
    for args in [STD, CORE] {
        let test = test().args(args).env("RUSTFLAGS", &flags);
        tally.add(test.env("CARGO_TARGET_DIR", workspace::target_dir().join("general")).tests()?);
    }
    Ok(tally)
}

/// Other files for the differential test with every commit, and the same for the same commit.
fn seed_of_commit() -> Option<String> {
    let output = Run::new("git").args(["rev-parse", "HEAD"]).capture().ok()?;
    let commit = String::from_utf8(output.stdout).ok()?;
    u64::from_str_radix(commit.get(..12)?, 16).ok().map(|seed| seed.to_string())
}

fn cargo_test(args: &[&str]) -> Outcome {
    test().args(args).tests()
}

fn test() -> Run {
    own_cargo().args(["test", "--quiet", "--no-fail-fast"])
}
