//! Tests the library on other targets than this computer.

use super::suites::{SUITE, level_of_tests, shared};
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::{BARE_TARGETS, BUILT_TARGETS, Toolchain};
use crate::{machine, workspace};

/// The features of the library for firmware.
const FEATURES: [&str; 10] = [
    "crc32",
    "defmt",
    "embedded-io",
    "embedded-io-async",
    "embedded-storage",
    "embedded-storage-async",
    "half",
    "heapless",
    "serde-json-core",
    "sha2",
];

/// Checks that the library compiles for every microcontroller: with no features, with each alone and with
/// all, so that none needs another. With all of them it is built; otherwise only checked, which is faster.
/// Cargo compiles for all targets at once.
pub fn microcontrollers() -> Outcome {
    let targets = [&BARE_TARGETS[..], &BUILT_TARGETS].concat();
    let toolchains = Toolchain::for_targets(&targets)?;
    let mut tally = Tally::default();
    for features in [&[][..], &FEATURES].into_iter().chain(FEATURES.chunks(1)) {
        let what = if features.is_empty() { "no features".to_owned() } else { features.join(", ") };
        let subcommand = if features == FEATURES { "build" } else { "check" };
        // Only compiling matters here; `links` builds optimised programs.
        let quickly = ["--config", "profile.dev.package.embedded-safetensors.opt-level=0"];
        let package = ["--package", "embedded-safetensors", "--no-default-features"];
        let outcome = Toolchain::cargo_for_all(&toolchains, subcommand)
            .map(|cargo| cargo.args(quickly).args(package).args(["--features", &features.join(",")]))
            .try_for_each(|cargo| cargo.capture().map(drop));
        tally.check(&format!("{} with {what}", targets.join(", ")), outcome);
    }
    Ok(tally)
}

/// Returns the version that the workspace's manifest promises.
pub fn oldest_rust() -> Result<String, String> {
    let manifest = workspace::text(&workspace::root().join("Cargo.toml"))?;
    let version = manifest.split("\nrust-version = \"").nth(1).and_then(|rest| rest.split('"').next());
    version.map(str::to_owned).ok_or_else(|| "Cargo.toml has no rust-version".to_owned())
}

/// Checks that the libraries compile with the oldest Rust that they promise. Clippy's lint looks at the
/// standard library only, not at the language.
pub fn with_oldest_rust() -> Outcome {
    let version = oldest_rust()?;
    let mut tally = Tally::default();
    for features in [
        &["embedded-safetensors"][..],
        &["embedded-safetensors", "--all-features"],
        &["embedded-safestructures"],
        &["safetensors-emit"],
        &["safetensors-files"],
        &["safetensors-remote"],
        &["safetensors-remote", "--all-features"],
    ] {
        let check = Run::new("cargo").args([&format!("+{version}"), "check", "--locked", "--quiet"]);
        let check = check.env("CARGO_TARGET_DIR", workspace::target_dir().join("oldest-rust"));
        let check = check.args(["--package"]).args(features);
        tally.check(&format!("{} with Rust {version}", features.join(" ")), check.check());
    }
    Ok(tally)
}

/// Builds the guide, and checks that each of its chapters has a page.
pub fn guide() -> Outcome {
    let pages = workspace::target_dir().join("book");
    Run::new("mdbook").args(["build", "docs", "--dest-dir"]).args([&pages]).check()?;
    let summary = workspace::text(&workspace::root().join("docs/src/SUMMARY.md"))?;
    let mut tally = Tally::default();
    for chapter in summary.split("](").skip(1).filter_map(|rest| rest.split(".md)").next()) {
        let page = pages.join(format!("{chapter}.html"));
        tally.check(chapter, workspace::read(&page).map(drop));
    }
    Ok(tally)
}

pub const X86_32: &str = "i686-unknown-linux-gnu";

/// Parts of the names of the tests that depend most on pointer width: verdicts, lookups, sizes.
const X86_32_QUICK: [&str; 6] = ["conformance::", "layout::", "lookups::", "index::", "large::", "files::"];

/// Runs these tests, with a share of the slow cases.
pub fn x86_32() -> Outcome {
    run_x86_32(&[], &X86_32_QUICK, 0, shared)
}

pub fn all_x86_32() -> Outcome {
    run_x86_32(&["--test", "memory"], &[], 1, |tests| tests)
}

/// Runs suites with 32-bit pointers, natively; with the feature `std`, so that files above 4 GiB are
/// tested. The libraries are optimised, because a standard library built from source would be slow
/// otherwise, but with the checks of a debug build. `level` is the optimisation level of the tests, and so
/// of the library's generic code.
fn run_x86_32(more: &[&str], tests: &[&str], level: u8, set: fn(Run) -> Run) -> Outcome {
    if !machine::runs_32_bit_x86() {
        let mut tally = Tally::default();
        tally.note("skipped: only Linux on x86-64 runs 32-bit x86 programs".to_owned());
        return Ok(tally);
    }
    set(Toolchain::for_target(X86_32)?.cargo("test"))
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
        .env("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true")
        .env("CARGO_PROFILE_RELEASE_INCREMENTAL", "true")
        .args(SUITE)
        .args(["--config", &level_of_tests(level)])
        .args(["--quiet", "--no-fail-fast", "--features", "std"])
        .args(more)
        .args(["--"])
        .args(tests)
        .tests()
}
