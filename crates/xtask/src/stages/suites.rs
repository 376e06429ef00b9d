//! The suites that cargo runs on this machine.
//!
//! The verification package always runs alone: in one build with the host program, cargo would unify
//! the core's features, and the suite would quietly test only the `std` build.

use crate::process::Run;
use crate::report::Outcome;
use crate::toolchain::own_cargo;
use crate::workspace;

pub fn workspace() -> Outcome {
    let mut tally = cargo_test(&["--workspace", "--exclude", "verification"])?;
    // Some examples of the documentation, and what is logged, use features that no other package turns on.
    for suite in [&["--doc"][..], &["--test", "formats"]] {
        let package = ["--package", "embedded-safetensors", "--all-features"];
        tally.add(cargo_test(&[&package, suite].concat())?);
    }
    let lib = ["--package", "embedded-safetensors", "--features", "shards,checkpoint", "--lib"];
    tally.add(cargo_test(&lib)?);
    Ok(tally)
}

pub fn no_std() -> Outcome {
    cargo_test(&["--package", "verification"])
}

pub fn std() -> Outcome {
    cargo_test(&["--package", "verification", "--features", "std"])
}

pub fn oracle() -> Outcome {
    let args = ["--release", "--package", "verification", "--features", "oracle"];
    match seed_of_commit() {
        Some(seed) => test().args(args).env("DIFFERENTIAL_SEED", seed).tests(),
        None => test().args(args).tests(),
    }
}

/// The tests of which all or most read headers.
const READ_HEADERS: [&str; 10] = [
    "adapters",
    "asynch",
    "chunking",
    "conformance",
    "index",
    "layout",
    "lookups",
    "receiver",
    "usual",
    "view",
];

/// These tests with the parser's shortcuts switched off. A target directory of its own keeps the other builds.
pub fn general() -> Outcome {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let packages = ["--package", "embedded-safetensors", "--package", "verification", "--lib"];
    test()
        .args(packages)
        .args(READ_HEADERS.iter().flat_map(|name| ["--test", name]))
        .env("RUSTFLAGS", format!("{flags} --cfg safetensors_general"))
        .env("CARGO_TARGET_DIR", workspace::target_dir().join("general"))
        .tests()
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
