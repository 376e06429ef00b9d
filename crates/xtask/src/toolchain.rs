//! A compiler for another target than this machine.
//!
//! The usual one is the toolchain that runs us, with the target's libraries from rustup. Where those
//! cannot be had, Debian's own compiler builds the libraries from the sources in its package.

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
/// Settings of one toolchain that must not reach another. Those of registries and the network stay.
const TOOLCHAIN_VARIABLES: [&str; 5] =
    ["RUST", "CARGO_ENCODED_", "CARGO_BUILD_", "CARGO_TARGET_", "CARGO_PROFILE_"];

/// The microcontrollers that the core is built for.
pub const BARE_TARGETS: [&str; 4] =
    ["thumbv6m-none-eabi", "thumbv7m-none-eabi", "thumbv7em-none-eabi", "riscv32imc-unknown-none-elf"];

/// Whose libraries a target is built with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Compiler {
    /// The toolchain that runs us; the target is installed.
    Installed,
    /// Debian's compiler, building the libraries from source.
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
        let refused = known.values().any(|&compiler| compiler == Compiler::Debian);
        let compiler = match need_target(triple, refused) {
            Ok(()) => Compiler::Installed,
            Err(reason) => need_debian(triple, &reason)?,
        };
        known.insert(triple, compiler);
        Ok(Self { triple, compiler })
    }

    /// `cargo SUBCOMMAND` for each of these targets, once for every compiler that they need: cargo builds for all of them at the same time.
    pub fn cargo_for_all(toolchains: &[Self], subcommand: &str) -> impl Iterator<Item = Run> {
        [Compiler::Installed, Compiler::Debian].into_iter().filter_map(move |compiler| {
            let mut of_compiler = toolchains.iter().filter(move |toolchain| toolchain.compiler == compiler);
            let first = of_compiler.next()?.cargo(subcommand);
            Some(of_compiler.fold(first, |cargo, toolchain| {
                toolchain.linking(cargo).args(["--target", toolchain.triple])
            }))
        })
    }

    /// `cargo SUBCOMMAND --target TRIPLE`, with a target directory that no other compiler uses. Boards set one of their own, because their
    /// programs have the same names; what those are built from is shared all the same.
    pub fn cargo(self, subcommand: &str) -> Run {
        let cargo = match self.compiler {
            Compiler::Installed => own_cargo(),
            Compiler::Debian => self.linking(debian_cargo()),
        };
        let libraries = match self.compiler {
            Compiler::Installed => None,
            // Some hardware abstraction layers name `alloc`, though nothing is put on a heap.
            Compiler::Debian if self.triple.contains("-none-") => Some("-Zbuild-std=core,alloc"),
            Compiler::Debian => Some("-Zbuild-std=std"),
        };
        let cargo = cargo.env("CARGO_TARGET_DIR", self.target_dir());
        let cargo = cargo.env("CARGO_BUILD_BUILD_DIR", self.target_dir());
        cargo.args([subcommand, "--target", self.triple]).args(libraries)
    }

    /// Has cargo link for this target. Debian's package has no `rust-lld`, which bare targets link with by default.
    fn linking(self, cargo: Run) -> Run {
        if self.compiler == Compiler::Installed || !self.triple.contains("-none-") {
            return cargo;
        }
        let linker = format!("CARGO_TARGET_{}_LINKER", self.triple.to_uppercase().replace('-', "_"));
        cargo.env(linker, "ld.lld")
    }

    /// The compiler that [`cargo`](Self::cargo) takes, as it names itself.
    pub fn version(self) -> Result<String, String> {
        match self.compiler {
            Compiler::Installed => own_version(),
            Compiler::Debian => version_of(DEBIAN_RUSTC.as_ref()),
        }
    }

    /// Where [`cargo`](Self::cargo) puts what it builds.
    pub fn target_dir(self) -> PathBuf {
        match self.compiler {
            Compiler::Installed => workspace::target_dir(),
            Compiler::Debian => workspace::target_dir().join("debian"),
        }
    }
}

/// The cargo of the toolchain that runs us, building for this machine and where we look for it.
pub fn own_cargo() -> Run {
    Run::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .without(&["CARGO_BUILD_TARGET"])
        .env("CARGO_TARGET_DIR", workspace::target_dir())
}

/// Debian's cargo, which knows nothing of rustup.
fn debian_cargo() -> Run {
    Run::new(DEBIAN_CARGO)
        .without(&TOOLCHAIN_VARIABLES)
        .env("CARGO", DEBIAN_CARGO)
        .env("RUSTC", DEBIAN_RUSTC)
        .env("RUSTC_BOOTSTRAP", "1")
}

/// The compiler that [`own_cargo`] takes, as it names itself.
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

/// Makes sure that a component of the toolchain that runs us, and so its cargo command, is there.
pub fn need_component(component: &str, command: &str) -> Result<(), String> {
    if own_cargo().args([command, "--version"]).capture().is_ok() {
        return Ok(());
    }
    add_by_rustup("component", component)
}

fn add_by_rustup(kind: &str, name: &str) -> Result<(), String> {
    let (words, advice) = ([kind, "add", name], format!("run `rustup {kind} add {name}`"));
    if machine::find("rustup").is_none() {
        return Err(format!("the toolchain lacks the {kind} {name}, and there is no rustup to {advice}"));
    }
    machine::install(&format!("the Rust {kind} {name}"), Some(&advice), || {
        Run::new("rustup").args(words).limit(180).check()
    })
}

/// Makes sure that the toolchain that runs us can build for `triple`, or says why it cannot.
fn need_target(triple: &str, rustup_refused: bool) -> Result<(), String> {
    if std::env::var_os("XTASK_COMPILER").is_some_and(|wish| wish == "debian") {
        return Err("XTASK_COMPILER=debian asks for Debian's".to_owned());
    }
    match is_installed(triple) {
        true => Ok(()),
        false if rustup_refused => {
            Err("rustup could not add another target, and was not asked again".to_owned())
        }
        false => add_by_rustup("target", triple),
    }
}

/// `rustc` names the directory of a target's libraries whether they are there or not.
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
        // Where nothing may be installed, rustup's advice is the better one.
        Err(_) if machine::installs_nothing() => Err(reason.to_owned()),
        Err(sentence) => Err(sentence),
    }
}
