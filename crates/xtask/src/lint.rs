//! Static checks of more than one package.

use crate::boards::{Package, packages};
use crate::machine::Need;
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::{Toolchain, own_cargo};
use crate::workspace;

/// Targets that the core is checked for. With each feature alone, only the full tier checks the second.
const CHECKED: [&str; 2] = ["thumbv7m-none-eabi", "riscv32imc-unknown-none-elf"];
/// Targets that the libraries are only checked for.
pub const PORTS: [&str; 4] =
    ["x86_64-pc-windows-gnu", "aarch64-apple-darwin", "thumbv7em-none-eabihf", "thumbv8m.main-none-eabi"];
/// The oldest Rust that the libraries promise: `rust-version` in `Cargo.toml`, as a test checks.
pub const OLDEST: &str = "1.87";
pub const LINKS_32_BITS: Need =
    Need::Works("gcc -m32 -shared -x c /dev/null -o /dev/null", &["gcc", "gcc-multilib"]);

/// Packages outside of the workspace that run on this computer.
const OTHERS: &str = "crates/safetensors-c crates/safetensors-c/fuzz crates/safetensors-js \
    crates/safetensors-python tests/aprender tests/fuzz tests/fuzz/readers tests/interop/aprender \
    tests/interop/burn tests/interop/candle tests/vectors/readers/rust";

/// Returns the features of the core for firmware: all but `std`.
fn features() -> Result<Vec<String>, String> {
    let path = workspace::root().join("crates/embedded-safetensors/Cargo.toml");
    let manifest: toml::Table = workspace::text(&path)?.parse().map_err(|error| format!("{error}"))?;
    let names = manifest["features"].as_table().into_iter().flat_map(|features| features.keys());
    Ok(names.filter(|name| !["default", "std"].contains(&name.as_str())).cloned().collect())
}

/// Checks that all files are formatted, and that lockfiles outside of the workspace fit their manifests.
pub fn format() -> Outcome {
    let mut tally = Tally::of("the workspace", own_cargo().words("fmt --all --check").check());
    let firmware = packages()?.iter().map(|package| format!("firmware/{}", package.name));
    for package in firmware.chain(OTHERS.split_whitespace().map(str::to_owned)) {
        let folder = workspace::root().join(&package);
        let cargo = |words| own_cargo().dir(&folder).words(words).capture().map(drop);
        tally.check(&package, cargo("fmt --check"));
        if folder.join("Cargo.lock").exists() {
            tally.check(&format!("{package}/Cargo.lock"), cargo("metadata --locked --format-version 1"));
        }
    }
    Ok(tally)
}

/// Checks the core without features and with all of them for both targets, and with each feature alone for
/// the first: no feature needs another.
pub fn features_of_core() -> Outcome {
    let (toolchains, features) = (Toolchain::for_targets(&CHECKED)?, features()?);
    let none_and_all = [String::new(), features.join(",")].into_iter();
    [check_core(&toolchains, none_and_all), check_core(&toolchains[..1], features.into_iter())]
        .into_iter()
        .sum()
}

fn check_core(toolchains: &[Toolchain], features: impl Iterator<Item = String>) -> Outcome {
    let mut tally = Tally::default();
    for features in features {
        let check =
            Toolchain::cargo_for_all(toolchains, "check").words("--locked --quiet -p embedded-safetensors");
        let what = format!("the core with features \"{features}\"");
        tally.check(&what, check.args(["--features", &features]).capture().map(drop));
    }
    Ok(tally)
}

/// Checks the libraries for other systems and microcontrollers, and with the oldest Rust; and each feature of
/// the core alone for the second target.
pub fn ports() -> Outcome {
    let (desktops, boards) = PORTS.split_at(2);
    let mut tally = check_core(&Toolchain::for_targets(boards)?, [features()?.join(",")].into_iter())?;
    tally.add(check_core(&Toolchain::for_targets(&CHECKED[1..])?, features()?.into_iter())?);
    let libraries = "-p embedded-safetensors -p embedded-safestructures -p safetensors-emit -p safetensors-files \
         -p safetensors-quant -p safetensors-slots";
    let desktops = Toolchain::for_targets(desktops)?;
    let check = Toolchain::cargo_for_all(&desktops, "check").words(libraries).words("-p safetensors-host");
    // The build script of a dependency calls a C compiler, but nothing that is checked needs what it makes.
    let check = check.env("CC", "true").env("AR", "true");
    tally.check("Windows and macOS", check.capture().map(drop));
    for packages in [libraries, "-p embedded-safetensors --all-features", "-p safetensors-remote"] {
        let target = workspace::target_dir().join("oldest-rust");
        let check = Run::new("cargo").args([&format!("+{OLDEST}"), "check", "--locked", "--quiet"]);
        let check = check.words(packages).env("CARGO_TARGET_DIR", target);
        tally.check(&format!("Rust {OLDEST}: {packages}"), check.capture().map(drop));
    }
    Ok(tally)
}

/// Runs clippy in firmware with all its features, for the first and the last of its targets.
pub fn firmware() -> Outcome {
    let mut tally = Tally::default();
    for Package { name, targets, features, runs_here } in packages()? {
        let (folder, features) = (format!("firmware/{name}"), features.join(" "));
        for triple in targets.iter().take(1).chain(targets.iter().skip(1).last()) {
            let lint = Toolchain::for_target(triple)?.cargo("clippy").args(["--release"]);
            tally.check(&format!("{folder} for {triple}"), clippy(lint, &folder, &features));
        }
        if *runs_here {
            let lint = own_cargo().args(["clippy", "--all-targets"]);
            tally.check(&format!("{folder}, its tests and examples"), clippy(lint, &folder, &features));
        }
    }
    Ok(tally)
}

/// Runs clippy in the libraries outside of the workspace.
pub fn other_libraries() -> Outcome {
    let (c, js, python) = ("crates/safetensors-c", "crates/safetensors-js", "crates/safetensors-python");
    let mut tally = Tally::default();
    for (package, features) in [(c, ""), (c, "no-panic"), (js, ""), (python, "")] {
        let outcome = clippy(own_cargo().args(["clippy"]), package, features);
        tally.check(format!("{package} {features}").trim_end(), outcome);
    }
    Ok(tally)
}

fn clippy(lint: Run, folder: &str, features: &str) -> Result<(), String> {
    let lint = lint.dir(&workspace::root().join(folder)).words("--locked --quiet --features");
    lint.args([features, "--", "-D", "warnings"]).capture().map(drop)
}

#[cfg(test)]
mod tests {
    use super::OLDEST;
    use crate::workspace;

    #[test]
    fn the_oldest_rust_is_that_of_the_manifest() {
        let manifest = workspace::text(&workspace::root().join("Cargo.toml")).unwrap();
        assert!(manifest.contains(&format!("\nrust-version = \"{OLDEST}\"\n")), "{OLDEST}");
    }
}
