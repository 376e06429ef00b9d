//! Compilers for other targets than this computer.
//!
//! The default is the toolchain that runs xtask, with the target's libraries from rustup. If rustup cannot
//! provide them, Debian's own compiler builds the libraries from the sources in its package.

use crate::process::Run;
use crate::{machine, workspace};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_LIBRARY: &str = "/usr/lib/rustlib/src/rust/library/Cargo.lock";
const DEBIAN_PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld"];
/// Variables of one toolchain that must not affect another. Those of registries and the network stay.
const TOOLCHAIN_VARIABLES: [&str; 5] =
    ["RUST", "CARGO_ENCODED_", "CARGO_BUILD_", "CARGO_TARGET_", "CARGO_PROFILE_"];

/// The microcontroller targets that programs are linked for: Cortex-M0+ (RP2040), M3, M4, and RISC-V
/// (ESP32-C3).
pub const BARE_TARGETS: [&str; 4] =
    ["thumbv6m-none-eabi", "thumbv7m-none-eabi", "thumbv7em-none-eabi", "riscv32imc-unknown-none-elf"];
/// More targets, which the library is only built for: Cortex-M7 and M4 with floats in hardware (STM32H7,
/// nRF52840), and Cortex-M33 (RP2350).
pub const BUILT_TARGETS: [&str; 2] = ["thumbv7em-none-eabihf", "thumbv8m.main-none-eabi"];

/// The compiler that builds for a target.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Compiler {
    /// The toolchain that runs xtask; the target is installed.
    Installed,
    /// Debian's compiler, which builds the standard libraries from source.
    Debian,
}

/// A target and the compiler that builds for it.
#[derive(Clone, Copy)]
pub struct Toolchain {
    pub triple: &'static str,
    pub compiler: Compiler,
}

impl Toolchain {
    /// Sets up what is needed to build for these targets.
    pub fn for_targets(triples: &[&'static str]) -> Result<Vec<Self>, String> {
        triples.iter().map(|triple| Self::for_target(triple)).collect()
    }

    /// Sets up what is needed to build for `triple`.
    pub fn for_target(triple: &'static str) -> Result<Self, String> {
        static KNOWN: Mutex<BTreeMap<&str, Compiler>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().map_err(|_| "an earlier set-up of a target panicked".to_owned())?;
        if let Some(&compiler) = known.get(triple) {
            return Ok(Self { triple, compiler });
        }
        let rustup_failed = known.values().any(|&compiler| compiler == Compiler::Debian);
        let compiler = match need_target(triple, rustup_failed) {
            Ok(()) => Compiler::Installed,
            Err(reason) => need_debian(triple, &reason)?,
        };
        known.insert(triple, compiler);
        Ok(Self { triple, compiler })
    }

    /// Returns one `cargo SUBCOMMAND` for each compiler that these targets need; cargo builds for all
    /// targets of one at the same time.
    pub fn cargo_for_all(toolchains: &[Self], subcommand: &str) -> impl Iterator<Item = Run> {
        [Compiler::Installed, Compiler::Debian].into_iter().filter_map(move |compiler| {
            let mut of_compiler = toolchains.iter().filter(move |toolchain| toolchain.compiler == compiler);
            let first = of_compiler.next()?.cargo(subcommand);
            Some(of_compiler.fold(first, |cargo, toolchain| {
                toolchain.linking(cargo).args(["--target", toolchain.triple])
            }))
        })
    }

    /// Returns `cargo SUBCOMMAND --target TRIPLE`, with a target directory that no other compiler uses.
    /// Boards have their own, because their programs have the same names, but share the build directory.
    pub fn cargo(self, subcommand: &str) -> Run {
        let cargo = match self.compiler {
            Compiler::Installed => own_cargo(),
            Compiler::Debian => self.linking(debian_cargo()),
        };
        let libraries = match self.compiler {
            Compiler::Installed => None,
            // Some hardware abstraction layers link `alloc`, though they do not allocate.
            Compiler::Debian if self.triple.contains("-none-") => Some("-Zbuild-std=core,alloc"),
            Compiler::Debian => Some("-Zbuild-std=std"),
        };
        let cargo = cargo.env("CARGO_TARGET_DIR", self.target_dir());
        let cargo = cargo.env("CARGO_BUILD_BUILD_DIR", self.target_dir());
        cargo.args([subcommand, "--target", self.triple]).args(libraries)
    }

    /// Sets the linker for this target. Debian's package lacks `rust-lld`, the default linker of bare
    /// targets.
    fn linking(self, cargo: Run) -> Run {
        if self.compiler == Compiler::Installed || !self.triple.contains("-none-") {
            return cargo;
        }
        let linker = format!("CARGO_TARGET_{}_LINKER", self.triple.to_uppercase().replace('-', "_"));
        cargo.env(linker, "ld.lld")
    }

    /// Returns the target directory of [`cargo`](Self::cargo).
    pub fn target_dir(self) -> PathBuf {
        match self.compiler {
            Compiler::Installed => workspace::target_dir(),
            Compiler::Debian => workspace::target_dir().join("debian"),
        }
    }
}

/// Returns the cargo that runs xtask, building for this computer and into our target directory.
pub fn own_cargo() -> Run {
    Run::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .without(&["CARGO_BUILD_TARGET"])
        .env("CARGO_TARGET_DIR", workspace::target_dir())
}

/// Returns Debian's cargo, without any settings of rustup.
fn debian_cargo() -> Run {
    Run::new(DEBIAN_CARGO)
        .without(&TOOLCHAIN_VARIABLES)
        .env("CARGO", DEBIAN_CARGO)
        .env("RUSTC", DEBIAN_RUSTC)
        .env("RUSTC_BOOTSTRAP", "1")
}

/// Returns the version of the compiler that [`own_cargo`] uses.
pub fn own_version() -> Result<String, String> {
    version_of(&own_rustc())
}

fn own_rustc() -> OsString {
    std::env::var_os("RUSTC").unwrap_or("rustc".into())
}

fn version_of(rustc: &OsStr) -> Result<String, String> {
    let output = Run::new(rustc).args(["--version"]).capture()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Ensures that a component of the toolchain, and so its cargo command, is installed.
pub fn need_component(component: &str, command: &str) -> Result<(), String> {
    if own_cargo().args([command, "--version"]).capture().is_ok() {
        return Ok(());
    }
    add_by_rustup("component", component)
}

/// Sets up a release of Rust by its name, for `cargo +NAME`.
pub fn need_rust(name: &str, purpose: &str) -> Result<(), String> {
    if Run::new("cargo").args([&format!("+{name}"), "--version"]).capture().is_ok() {
        return Ok(());
    }
    let advice = format!("run `rustup toolchain install {name}`");
    machine::install(&format!("the Rust toolchain {name}, {purpose}"), Some(&advice), || {
        Run::new("rustup").args(["toolchain", "install", name, "--profile", "minimal"]).check()
    })
}

/// Sets up a program that cargo can install. `package` may end with its version, after an `@`.
pub fn need_cargo_program(program: &str, package: &str) -> Result<(), String> {
    if machine::find(program).is_some() {
        return Ok(());
    }
    let advice = format!("run `cargo install {package}`");
    machine::install(program, Some(&advice), || {
        own_cargo().args(["install", "--locked", "--quiet", package]).check()
    })
}

fn add_by_rustup(kind: &str, name: &str) -> Result<(), String> {
    let (words, advice) = ([kind, "add", name], format!("run `rustup {kind} add {name}`"));
    if machine::find("rustup").is_none() {
        return Err(format!(
            "the toolchain lacks the {kind} {name}, and rustup is not installed to {advice}"
        ));
    }
    machine::install(&format!("the Rust {kind} {name}"), Some(&advice), || {
        Run::new("rustup").args(words).limit(180).check()
    })
}

/// Ensures that the toolchain which runs xtask can build for `triple`.
fn need_target(triple: &str, rustup_failed: bool) -> Result<(), String> {
    if std::env::var_os("XTASK_COMPILER").is_some_and(|compiler| compiler == "debian") {
        return Err("XTASK_COMPILER=debian is set".to_owned());
    }
    match is_installed(triple) {
        true => Ok(()),
        false if rustup_failed => {
            Err("rustup could not add another target, and was not tried again".to_owned())
        }
        false => add_by_rustup("target", triple),
    }
}

/// Whether the directory of the target's libraries has files: `rustc` names it even if it does not exist.
fn is_installed(triple: &str) -> bool {
    let rustc = Run::new(own_rustc()).args(["--print", "target-libdir", "--target", triple]).capture();
    rustc.is_ok_and(|output| {
        let folder = String::from_utf8_lossy(&output.stdout);
        Path::new(folder.trim()).read_dir().is_ok_and(|mut entries| entries.next().is_some())
    })
}

fn need_debian(triple: &str, reason: &str) -> Result<Compiler, String> {
    let has_all = || [DEBIAN_CARGO, DEBIAN_RUSTC, DEBIAN_LIBRARY].iter().all(|path| Path::new(path).exists());
    let present = || has_all() && machine::find("ld.lld").is_some();
    let outcome = machine::need(&format!("a compiler for {triple} ({reason})"), &DEBIAN_PACKAGES, present);
    match outcome {
        Ok(()) => Ok(Compiler::Debian),
        // If nothing may be installed, rustup's advice is the better one.
        Err(_) if machine::installs_nothing() => Err(reason.to_owned()),
        Err(sentence) => Err(sentence),
    }
}
