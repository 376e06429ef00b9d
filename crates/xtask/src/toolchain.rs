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
    /// Sets up what is needed to build for `triple`.
    pub fn for_target(triple: &'static str) -> Result<Self, String> {
        static KNOWN: Mutex<BTreeMap<&str, Compiler>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().map_err(|_| "an earlier set-up of a target panicked".to_owned())?;
        if let Some(&compiler) = known.get(triple) {
            return Ok(Self { triple, compiler });
        }
        let refused = known.values().any(|&compiler| compiler == Compiler::Debian);
        let compiler = set_up(triple, own_compiler(triple, refused))?;
        known.insert(triple, compiler);
        Ok(Self { triple, compiler })
    }

    /// `cargo SUBCOMMAND --target TRIPLE`, with a target directory that no other compiler uses.
    pub fn cargo(self, subcommand: &str) -> Run {
        match self.compiler {
            Compiler::Installed => own_cargo(),
            Compiler::Debian => debian_cargo(),
        }
        .env("CARGO_TARGET_DIR", self.target_dir())
        .args([subcommand, "--target", self.triple])
        .args(self.library_flags())
    }

    /// The compiler that [`cargo`](Self::cargo) takes, as it names itself.
    pub fn version(self) -> Result<String, String> {
        let rustc = match self.compiler {
            Compiler::Installed => own_rustc(),
            Compiler::Debian => DEBIAN_RUSTC.into(),
        };
        version_of(&rustc)
    }

    /// Where [`cargo`](Self::cargo) puts what it builds.
    pub fn target_dir(self) -> PathBuf {
        match self.compiler {
            Compiler::Installed => workspace::target_dir().join("targets"),
            Compiler::Debian => workspace::target_dir().join("targets-debian"),
        }
    }

    fn library_flags(self) -> &'static [&'static str] {
        match (self.compiler, self.is_bare()) {
            (Compiler::Installed, _) => &[],
            // Some hardware abstraction layers name `alloc`, though nothing is put on a heap.
            (Compiler::Debian, true) => &["-Zbuild-std=core,alloc"],
            (Compiler::Debian, false) => &["-Zbuild-std=std"],
        }
    }

    fn is_bare(self) -> bool {
        self.triple.contains("-none-")
    }
}

/// The cargo of the toolchain that runs us, building for this machine and where we look for it.
pub fn own_cargo() -> Run {
    Run::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .without(&["CARGO_BUILD_TARGET"])
        .env("CARGO_TARGET_DIR", workspace::target_dir())
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
    let present = || own_cargo().args([command, "--version"]).capture().is_ok();
    let add = || {
        machine::may_install(&format!("the component {component} of the Rust toolchain"))?;
        Run::new("rustup").args(["component", "add", component]).limit(180).check()
    };
    if present() {
        return Ok(());
    }
    if machine::find("rustup").is_some() {
        add()?;
        return Ok(());
    }
    Err(format!("`cargo {command}` is missing; run `rustup component add {component}`"))
}

/// What one toolchain is told and another must not hear. Settings of registries and the network stay.
const TOOLCHAIN_VARIABLES: [&str; 5] =
    ["RUST", "CARGO_ENCODED_", "CARGO_BUILD_", "CARGO_TARGET_", "CARGO_PROFILE_"];

/// Debian's cargo, which knows nothing of rustup.
fn debian_cargo() -> Run {
    Run::new(DEBIAN_CARGO)
        .without(&TOOLCHAIN_VARIABLES)
        .env("CARGO", DEBIAN_CARGO)
        .env("RUSTC", DEBIAN_RUSTC)
        .env("RUSTC_BOOTSTRAP", "1")
        .envs_for_bare_linking()
}

impl Run {
    /// Debian's package has no `rust-lld`, which bare targets link with by default.
    fn envs_for_bare_linking(self) -> Self {
        BARE_TARGETS.into_iter().chain([HARD_FLOATS]).fold(self, |run, triple| {
            let name = triple.to_uppercase().replace('-', "_");
            run.env(format!("CARGO_TARGET_{name}_LINKER"), "ld.lld")
        })
    }
}

/// The microcontrollers that the core is built for.
pub const BARE_TARGETS: [&str; 4] =
    ["thumbv6m-none-eabi", "thumbv7m-none-eabi", "thumbv7em-none-eabi", "riscv32imc-unknown-none-elf"];

/// A microcontroller whose floats are passed in registers: boards are built for it, the core is as above.
pub const HARD_FLOATS: &str = "thumbv7em-none-eabihf";

/// Makes sure that the toolchain that runs us can build for `triple`, or says why it cannot.
fn own_compiler(triple: &str, rustup_refused: bool) -> Result<(), String> {
    if std::env::var_os("XTASK_COMPILER").is_some_and(|wish| wish == "debian") {
        return Err("XTASK_COMPILER=debian asks for Debian's".to_owned());
    }
    if is_installed(triple) {
        return Ok(());
    }
    if machine::find("rustup").is_none() {
        return Err("the one that runs us lacks the target, and there is no rustup to add it".to_owned());
    }
    if rustup_refused {
        return Err("rustup could not add another target, and was not asked again".to_owned());
    }
    machine::may_install(&format!("the Rust target {triple}"))?;
    let add = Run::new("rustup").args(["target", "add", triple]).limit(180).check();
    if add.is_ok() && is_installed(triple) {
        Ok(())
    } else {
        Err(format!("`rustup target add {triple}` failed"))
    }
}

fn set_up(triple: &str, own: Result<(), String>) -> Result<Compiler, String> {
    let Err(reason) = own else { return Ok(Compiler::Installed) };
    let present = || [DEBIAN_CARGO, DEBIAN_RUSTC, DEBIAN_LIBRARY].iter().all(|path| Path::new(path).exists());
    let present = || present() && machine::find("ld.lld").is_some();
    machine::need(&format!("a compiler for {triple} ({reason})"), &DEBIAN_PACKAGES, present)?;
    Ok(Compiler::Debian)
}

/// `rustc` names the directory of a target's libraries whether they are there or not.
fn is_installed(triple: &str) -> bool {
    let rustc = Run::new("rustc").args(["--print", "target-libdir", "--target", triple]).capture();
    rustc.is_ok_and(|output| {
        let folder = String::from_utf8_lossy(&output.stdout);
        Path::new(folder.trim()).read_dir().is_ok_and(|mut entries| entries.next().is_some())
    })
}
