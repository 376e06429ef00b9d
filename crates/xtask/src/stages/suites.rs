//! Runs the suites of cargo on this computer.
//!
//! The verification package is always built alone: in one build with the command, cargo would unify the
//! library's features, and the suite would silently test only the `std` build.

use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;
use crate::workspace;
use std::path::PathBuf;

/// The packages of the libraries and the command.
const PRODUCTS: [&str; 7] =
    ["--workspace", "--exclude", "verification", "--exclude", "support", "--exclude", "xtask"];

/// The suite in a release build.
pub const SUITE: [&str; 5] = ["--release", "--package", "verification", "--test", "suite"];

/// Sets the optimisation level of the tests of [`SUITE`], and so of the library's generic code, which is
/// compiled with them.
pub fn level_of_tests(level: u8) -> String {
    format!("profile.release.package.verification.opt-level={level}")
}

/// Tests the libraries and the command in one build with all features of the libraries: a second set of
/// features would compile it again. `xtask` is tested as it was built.
pub fn workspace() -> Outcome {
    let mut tally = share(&["--package", "xtask"])?;
    tally.add(share(
        &PRODUCTS.iter().copied().chain(["--features", &features_of_library()?]).collect::<Vec<_>>(),
    )?);
    Ok(tally)
}

/// Returns the command from the build of [`workspace`]: with other features, all its dependencies would be
/// compiled again.
pub fn command() -> Result<PathBuf, String> {
    let build = own_cargo().args(["build", "--quiet", "--bin", "safetensors"]).args(PRODUCTS);
    build.args(["--features", &features_of_library()?]).capture()?;
    Ok(workspace::target_dir().join("debug/safetensors"))
}

/// Returns the command as users build it.
pub fn release_command() -> Result<PathBuf, String> {
    own_cargo().args(["build", "--release", "--quiet", "--package", "safetensors-host"]).capture()?;
    Ok(workspace::target_dir().join("release/safetensors"))
}

pub fn no_std() -> Outcome {
    share(&["--package", "verification"])
}

pub fn std() -> Outcome {
    share(&["--package", "verification", "--features", "std,oracle"])
}

/// Tests all of [`no_std`], and the examples, each with only the features that it needs.
pub fn whole() -> Outcome {
    let mut tally = test().args(["--package", "verification"]).tests()?;
    for package in ["embedded-safetensors", "safetensors-files"] {
        tally.add(test().args(["--package", package, "--test", "examples"]).tests()?);
    }
    Ok(tally)
}

/// Tests the entire suite, including all slow cases, optimised as programs are.
pub fn oracle() -> Outcome {
    with_seed(test().args(SUITE).args(["--test", "memory", "--features", "std,oracle"])).tests()
}

/// Tests what differs with probe-rs, and what all commands have in common; [`workspace`] tests the rest.
pub fn chips() -> Outcome {
    const DIFFERENT: [&str; 6] =
        ["fit::", "flash::", "every_command::", "bad_input::", "completions::", "pages::"];
    let package = ["--package", "safetensors-host", "--features", "chips"];
    let mut tally = share(&[&package[..], &["--lib"]].concat())?;
    tally.add(share(&[&package[..], &["--test", "command", "--"], &DIFFERENT].concat())?);
    Ok(tally)
}

/// Tests the casts of every F32, optimised as programs are.
pub fn casts() -> Outcome {
    let package = ["--release", "--package", "safetensors-convert", "--lib", "every_f32"];
    test().args(package).env("EVERY_F32", "1").limit(3600).tests()
}

/// Regenerates the conformance vectors.
pub fn write_vectors() -> Result<(), String> {
    generator("generate").check()
}

/// Checks that the committed vectors match the generator.
pub fn vectors() -> Outcome {
    Ok(Tally::of("the committed vectors match the generator", generator("check").check()))
}

fn generator(command: &str) -> Run {
    // Built as for `oracle`, so that little is left to build.
    let package = ["--release", "--quiet", "--package", "verification", "--features", "std,oracle"];
    own_cargo().args(["run"]).args(package).args(["--bin", "vectors", "--", command])
}

/// Tests the memory of the command; `counts` includes the memory of the library.
pub fn memory() -> Outcome {
    let run = test().args(["--release", "--package", "safetensors-host", "--test", "memory"]);
    // A test program that does not count tests.
    Ok(Tally::of("the command keeps within its memory limits", run.check()))
}

/// Returns the library's features, as an option for a build with other packages.
fn features_of_library() -> Result<String, String> {
    let manifest = workspace::text(&workspace::root().join("crates/embedded-safetensors/Cargo.toml"))?;
    let manifest: toml::Table = toml::from_str(&manifest).map_err(|error| error.to_string())?;
    let features = manifest.get("features").and_then(|features| features.as_table());
    let features = features.ok_or("the library has no features")?.keys();
    let features = features.map(|feature| format!("embedded-safetensors/{feature}"));
    Ok(features.chain(["safetensors-remote/async".to_owned()]).collect::<Vec<_>>().join(","))
}

fn share(args: &[&str]) -> Outcome {
    shared(test().args(args)).tests()
}

/// Sets up tests for a quick run: a share of the slow cases, another one for every commit.
pub fn shared(tests: Run) -> Run {
    with_seed(tests).env("SUITE_SHARE", "8")
}

/// Sets a seed for random files and shares: different for each commit, the same for the same commit.
fn with_seed(run: Run) -> Run {
    match seed_of_commit() {
        Some(seed) => run.env("SUITE_SEED", seed),
        None => run,
    }
}

fn seed_of_commit() -> Option<String> {
    let output = Run::new("git").args(["rev-parse", "HEAD"]).capture().ok()?;
    let commit = String::from_utf8(output.stdout).ok()?;
    u64::from_str_radix(commit.get(..12)?, 16).ok().map(|seed| seed.to_string())
}

fn test() -> Run {
    own_cargo().args(["test", "--quiet", "--no-fail-fast"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_has_features() {
        let features = features_of_library().expect("its manifest");
        for feature in ["defmt", "std", "half"] {
            assert!(
                features.split(',').any(|name| name == format!("embedded-safetensors/{feature}")),
                "{features}"
            );
        }
    }
}
