//! `cargo xtask lint`: everything that can be judged without running it.

use super::Command;
use crate::boards::{Package, packages};
use crate::process::Run;
use crate::report::{Outcome, Report, Tally};
use crate::toolchain::{self, Compiler, Toolchain, own_cargo};
use crate::workspace;
use std::process::ExitCode;

pub const COMMAND: Command =
    Command { name: "lint", about: "formatting, clippy, documentation, house rules", run };

fn run(_: &[String]) -> Result<ExitCode, String> {
    toolchain::need_component("rustfmt", "fmt")?;
    toolchain::need_component("clippy", "clippy")?;
    let mut report = Report::new(|_| "cargo xtask lint".to_owned());
    report.stage("format", "every file is as rustfmt writes it", format);
    report.stage("clippy", "no warnings, with any features", clippy);
    report.stage("firmware", "no warnings in firmware", firmware);
    report.stage("doc", "the documentation builds without warnings", doc);
    report.stage("package", "the product packs, and builds from its package", package);
    report.stage("house", "layers, lengths of functions and files, words", house);
    Ok(report.print(None))
}

fn format() -> Outcome {
    let mut tally = Tally::default();
    tally.check("workspace", own_cargo().args(["fmt", "--all", "--check"]).check());
    for package in packages() {
        tally.check(package.folder, in_package(own_cargo(), package).args(["fmt", "--check"]).check());
    }
    Ok(tally)
}

fn clippy() -> Outcome {
    let mut tally = Tally::default();
    let chips = ["--package", "safetensors-host", "--features", "chips"];
    let all = ["--package", "embedded-safetensors", "--all-features"];
    let alone = |feature| ["--package", "verification", "--features", feature];
    let verification = ["std", "oracle", "formats", "bench"].map(alone);
    for features in verification.iter().map(|set| &set[..]).chain([&["--workspace"][..], &all, &chips]) {
        let clippy = own_cargo().args(["clippy", "--quiet", "--all-targets"]).args(features);
        tally.check(&features.join(" "), clippy.args(["--", "-D", "warnings"]).check());
    }
    Ok(tally)
}

/// Each package for each of its targets, with each of its sets of features.
fn firmware() -> Outcome {
    let mut tally = Tally::default();
    for package in packages() {
        for triple in package.triples {
            let toolchain = Toolchain::for_target(triple)?;
            for features in package.features {
                let what = format!("{} for {triple} {features}", package.folder);
                tally.check(what.trim_end(), lint(toolchain, package, features));
            }
        }
        for features in package.features.iter().filter(|_| package.runs_here) {
            let clippy = in_package(own_cargo(), package).args(["clippy", "--locked", "--quiet"]);
            let what = format!("{}, its tests and examples {features}", package.folder);
            let clippy = clippy.args(["--all-targets", "--features", features]);
            tally.check(what.trim_end(), clippy.args(["--", "-D", "warnings"]).check());
        }
    }
    Ok(tally)
}

/// Debian's compiler comes without clippy: where it builds the firmware, the compiler's own lints do.
fn lint(toolchain: Toolchain, package: &Package, features: &str) -> Result<(), String> {
    let lint = if toolchain.compiler == Compiler::Installed { "clippy" } else { "check" };
    let run = in_package(toolchain.cargo(lint), package).args(["--release", "--locked", "--quiet"]);
    run.args(["--features", features]).env("RUSTFLAGS", "-Dwarnings").check()
}

fn in_package(run: Run, package: &Package) -> Run {
    run.dir(&workspace::root().join(package.folder))
}

fn doc() -> Outcome {
    let mut tally = Tally::default();
    let doc = own_cargo().args([
        "doc",
        "--quiet",
        "--no-deps",
        "--package",
        "embedded-safetensors",
        "--all-features",
    ]);
    tally.check("embedded-safetensors", doc.env("RUSTDOCFLAGS", "-Dwarnings").check());
    Ok(tally)
}

/// Packs the product and builds what was packed. Cargo leaves out a readme that it cannot find.
fn package() -> Outcome {
    let package = ["package", "--allow-dirty", "--quiet", "--package", "embedded-safetensors"];
    let mut tally = Tally::default();
    tally.check("packs and builds", own_cargo().args(package).check());
    let list = own_cargo().args(package).args(["--list"]).capture();
    let listed = list.and_then(|output| {
        let files = String::from_utf8_lossy(&output.stdout).into_owned();
        match files.lines().any(|file| file == "README.md") {
            true => Ok(()),
            false => Err("README.md is not in the package".to_owned()),
        }
    });
    tally.check("holds its readme", listed);
    Ok(tally)
}

fn house() -> Outcome {
    let tests = ["test", "--quiet", "--package", "verification", "--test", "house", "--test", "layering"];
    own_cargo().args(tests).tests()
}
