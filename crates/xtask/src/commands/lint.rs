//! `cargo xtask lint`: all static checks.

use super::{Command, api};
use crate::boards::{Package, packages};
use crate::process::Run;
use crate::python::adapters;
use crate::report::{Outcome, Report, Tally};
use crate::toolchain::{self, Compiler, Toolchain, own_cargo};
use crate::workspace;
use std::fs;
use std::process::ExitCode;

pub const COMMAND: Command =
    Command { name: "lint", about: "formatting, clippy, documentation, house rules", run };

fn run(words: &[String]) -> Result<ExitCode, String> {
    super::no_words(words, "lint")?;
    toolchain::need_component("rustfmt", "fmt")?;
    toolchain::need_component("clippy", "clippy")?;
    let mut report = Report::new(|_| "cargo xtask lint".to_owned());
    report.stage("format", "every file is formatted by rustfmt", format);
    report.stage("lockfiles", "every lockfile fits its manifest", lockfiles);
    report.stage("clippy", "no warnings with any features", clippy);
    report.stage("firmware", "no warnings in firmware", firmware);
    report.stage("doc", "the documentation builds without warnings", doc);
    report.stage("api", "the public API is what tests/api says", api::compare);
    report.stage("package", "the libraries can be packaged and built from the packages", package);
    report.stage("house", "layers, lengths of functions and files, wording", house);
    Ok(report.print(None))
}

/// The version of all packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The published packages; each depends only on those before it.
const PACKAGES: [&str; 9] = [
    "embedded-safetensors-macros",
    "embedded-safetensors",
    "embedded-safestructures",
    "safetensors-files",
    "safetensors-remote",
    "safetensors-convert",
    "safetensors-emit",
    "vectors",
    "safetensors-host",
];

/// The package of the C API, which is not a member of the workspace.
const C_API: &str = "crates/safetensors-c";

/// The package that trains with aprender. The stage `aprender` compiles it.
const APRENDER: &str = "tests/aprender";

/// The extension of the Python package, which is not a member either.
const PYTHON: &str = "crates/safetensors-python";

/// Those with public documentation.
const LIBRARIES: [&str; 6] = [
    "embedded-safetensors-macros",
    "embedded-safetensors",
    "embedded-safestructures",
    "safetensors-emit",
    "safetensors-files",
    "safetensors-remote",
];

/// Packages outside of the workspace have lockfiles of their own, which builds there do not update.
fn lockfiles() -> Outcome {
    let listed = Run::new("git").args(["ls-files", "Cargo.lock", "*/Cargo.lock"]).capture()?;
    let mut tally = Tally::default();
    for path in String::from_utf8_lossy(&listed.stdout).lines() {
        let manifest = workspace::root().join(path).with_extension("toml");
        let words = ["metadata", "--locked", "--quiet", "--format-version", "1", "--manifest-path"];
        tally.check(path, own_cargo().args(words).args([manifest]).capture().map(drop));
    }
    Ok(tally)
}

fn format() -> Outcome {
    let mut tally = Tally::of("workspace", own_cargo().args(["fmt", "--all", "--check"]).check());
    for package in packages()? {
        let fmt = own_cargo().dir(&package.folder()).args(["fmt", "--check"]);
        tally.check(&format!("firmware/{}", package.name), fmt.check());
    }
    for package in [C_API, PYTHON, APRENDER] {
        let fmt = own_cargo().dir(&workspace::root().join(package)).args(["fmt", "--check"]);
        tally.check(package, fmt.check());
    }
    for adapter in adapters()?.iter().filter(|folder| folder.join("Cargo.toml").exists()) {
        let fmt = own_cargo().dir(adapter).args(["fmt", "--check"]);
        tally.check(&adapter.display().to_string(), fmt.check());
    }
    Ok(tally)
}

fn clippy() -> Outcome {
    let mut tally = Tally::default();
    let chips = ["--package", "safetensors-host", "--features", "chips"];
    let all = ["--package", "embedded-safetensors", "--all-features"];
    let remote = ["--package", "safetensors-remote", "--all-features"];
    let alone = |feature| ["--package", "verification", "--features", feature];
    let verification = ["std", "oracle", "formats", "bench"].map(alone);
    for features in
        verification.iter().map(|set| &set[..]).chain([&["--workspace"][..], &all, &remote, &chips])
    {
        let clippy = own_cargo().args(["clippy", "--quiet", "--all-targets"]).args(features);
        tally.check(&features.join(" "), clippy.args(["--", "-D", "warnings"]).check());
    }
    for features in ["", "no-panic"] {
        let clippy = own_cargo().dir(&workspace::root().join(C_API)).args(["clippy", "--quiet", "--locked"]);
        let clippy = clippy.args(["--features", features, "--", "-D", "warnings"]);
        tally.check(format!("{C_API} {features}").trim_end(), clippy.check());
    }
    let python = own_cargo().dir(&workspace::root().join(PYTHON)).args(["clippy", "--quiet", "--locked"]);
    tally.check(PYTHON, python.args(["--", "-D", "warnings"]).check());
    Ok(tally)
}

/// Checks each package for each of its targets, with each of its sets of features.
fn firmware() -> Outcome {
    let mut tally = Tally::default();
    for package in packages()? {
        let Package { name, targets, features, runs_here } = package;
        for (triple, features) in
            targets.iter().flat_map(|triple| features.iter().map(move |set| (triple, set)))
        {
            let what = format!("firmware/{name} for {triple} {features}");
            let toolchain = Toolchain::for_target(triple)?;
            // Debian's compiler has no clippy; there, `cargo check` runs the compiler's own lints.
            let lint = if toolchain.compiler == Compiler::Installed { "clippy" } else { "check" };
            let lint =
                toolchain.cargo(lint).dir(&package.folder()).args(["--release", "--locked", "--quiet"]);
            let lint = lint.args(["--features", features]).env("RUSTFLAGS", "-Dwarnings");
            tally.check(what.trim_end(), lint.check());
        }
        for features in features.iter().filter(|_| *runs_here) {
            let clippy = own_cargo().dir(&package.folder()).args(["clippy", "--locked", "--quiet"]);
            let clippy = clippy.args(["--all-targets", "--features", features, "--", "-D", "warnings"]);
            tally.check(
                format!("firmware/{name}, its tests and examples {features}").trim_end(),
                clippy.check(),
            );
        }
    }
    Ok(tally)
}

fn doc() -> Outcome {
    let mut tally = Tally::default();
    for package in LIBRARIES {
        let doc = ["doc", "--quiet", "--no-deps", "--package", package, "--all-features"];
        tally.check(package, own_cargo().args(doc).env("RUSTDOCFLAGS", "-Dwarnings").check());
    }
    Ok(tally)
}

/// Packages the libraries and builds the packages. Cargo leaves out a readme that it cannot find.
fn package() -> Outcome {
    let package = ["package", "--allow-dirty", "--quiet"];
    let mut tally = Tally::of("pack and build", build_packed());
    for library in PACKAGES {
        let list = own_cargo().args(package).args(["--list", "--package", library]).capture();
        let listed = list.and_then(|output| {
            let has_readme = String::from_utf8_lossy(&output.stdout).lines().any(|file| file == "README.md");
            has_readme.then_some(()).ok_or_else(|| "README.md is not in the package".to_owned())
        });
        tally.check(&format!("{library} contains its readme"), listed);
    }
    Ok(tally)
}

/// Builds the packages. Cargo's own verification would build each with an earlier run's packages of the
/// others.
fn build_packed() -> Result<(), String> {
    let all = PACKAGES.iter().flat_map(|library| ["--package", library]);
    own_cargo().args(["package", "--allow-dirty", "--quiet", "--no-verify"]).args(all).check()?;
    let packed = workspace::target_dir().join("packed");
    let _ = fs::remove_dir_all(&packed);
    fs::create_dir_all(&packed).map_err(|error| error.to_string())?;
    let mut patches = Vec::new();
    for library in PACKAGES {
        let archive = workspace::target_dir().join(format!("package/{library}-{VERSION}.crate"));
        let folder = packed.join(format!("{library}-{VERSION}"));
        // `m`: with the archive's times, which are the same in all archives, cargo would not see a change.
        let tar = Run::new("tar").dir(&packed).args(["-x", "-m", "-f"]);
        tar.args([archive.display().to_string()]).check()?;
        let manifest = workspace::text(&folder.join("Cargo.toml"))?;
        fs::write(folder.join("Cargo.toml"), manifest + "\n[workspace]\n")
            .map_err(|error| error.to_string())?;
        patches.push("--config".to_owned());
        patches.push(format!("patch.crates-io.{library}.path={:?}", folder.display().to_string()));
    }
    let [.., last] = PACKAGES;
    own_cargo()
        .dir(&packed.join(format!("{last}-{VERSION}")))
        .args(["check", "--quiet"])
        .args(patches)
        .check()
}

fn house() -> Outcome {
    let tests = ["test", "--quiet", "--package", "verification", "--test", "house", "--test", "layering"];
    own_cargo().args(tests).tests()
}
