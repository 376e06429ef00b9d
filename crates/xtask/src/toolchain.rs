//! Cargo for this computer and for other targets.

use crate::machine;
use crate::process::Run;
use crate::workspace;

/// The microcontroller targets that programs are linked for: Cortex-M0+ (RP2040), M3, M4, and RISC-V
/// (ESP32-C3).
pub const BARE_TARGETS: [&str; 4] =
    ["thumbv6m-none-eabi", "thumbv7m-none-eabi", "thumbv7em-none-eabi", "riscv32imc-unknown-none-elf"];

/// A target that the toolchain can build for.
#[derive(Clone, Copy)]
pub struct Toolchain {
    pub triple: &'static str,
}

impl Toolchain {
    /// Adds these targets to the toolchain.
    pub fn for_targets(triples: &[&'static str]) -> Result<Vec<Self>, String> {
        triples.iter().map(|triple| Self::for_target(triple)).collect()
    }

    /// Adds a target to the toolchain.
    pub fn for_target(triple: &'static str) -> Result<Self, String> {
        machine::need_target(triple).map(|()| Self { triple })
    }

    /// Returns a `cargo SUBCOMMAND` that builds for all these targets at the same time.
    pub fn cargo_for_all(toolchains: &[Self], subcommand: &str) -> Run {
        let targets = toolchains.iter().flat_map(|toolchain| ["--target", toolchain.triple]);
        own_cargo().args([subcommand]).args(targets)
    }

    /// Returns `cargo SUBCOMMAND --target TRIPLE`. Boards have target directories of their own, because
    /// their programs have the same names, but share the build directory.
    pub fn cargo(self, subcommand: &str) -> Run {
        let cargo = own_cargo().env("CARGO_BUILD_BUILD_DIR", workspace::target_dir());
        cargo.args([subcommand, "--target", self.triple])
    }
}

/// Returns the version of the compiler.
pub fn own_version() -> Result<String, String> {
    Run::new(std::env::var_os("RUSTC").unwrap_or("rustc".into())).args(["--version"]).stdout()
}

/// Returns the cargo that runs xtask, building for this computer and into our target directory.
pub fn own_cargo() -> Run {
    Run::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .without("CARGO_BUILD_TARGET")
        .env("CARGO_TARGET_DIR", workspace::target_dir())
}
