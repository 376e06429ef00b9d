//! Building and running the programs of `firmware/measure`.

use crate::process::{Run, everything};
use crate::toolchain::{Toolchain, own_cargo};
use crate::{machine, workspace};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Parts of symbol names that only come with panics, text formatting or unwinding.
pub const UNWANTED: [&str; 3] = ["panic", "4core3fmt", "unwind"];

const PACKAGE: &str = "measure";

/// The sections that lie in flash.
pub const FLASH: [&str; 3] = [".text", ".rodata", ".data"];

/// The programs for some targets at one optimisation level.
#[derive(Clone, Copy)]
pub struct Firmware<'a> {
    pub toolchains: &'a [Toolchain],
    pub level: &'static str,
}

impl Firmware<'_> {
    /// Builds all programs but the reference's.
    pub fn build(self) -> Result<(), String> {
        self.run(&["--bins"])
    }

    /// Builds some of them.
    pub fn build_only(self, programs: &[&str]) -> Result<(), String> {
        self.run(&programs.iter().flat_map(|program| ["--bin", program]).collect::<Vec<_>>())
    }

    /// Builds a program with a feature.
    pub fn build_with(self, program: &str, feature: &str) -> Result<(), String> {
        self.run(&["--bin", program, "--features", feature])
    }

    /// Whether a build of its own for each target succeeds, in their order: where one for all has failed, that tells for which it does.
    pub fn each(self, build: impl Fn(Firmware<'_>) -> Result<(), String>) -> Vec<Result<(), String>> {
        match build(self) {
            Ok(()) => vec![Ok(()); self.toolchains.len()],
            Err(_) => {
                self.toolchains.chunks(1).map(|toolchains| build(Firmware { toolchains, ..self })).collect()
            }
        }
    }

    /// Builds a program that must not build for any of the targets, and gives what was said for each; an error when it builds for one.
    pub fn build_refused(self, program: &str, feature: &str) -> Result<Vec<String>, String> {
        let refused = |toolchain: &Toolchain| {
            let alone = Firmware { toolchains: std::slice::from_ref(toolchain), ..self };
            let mut said = String::new();
            for cargo in alone.cargo()? {
                let output = cargo.args(["--bin", program, "--features", feature]).output()?;
                if output.status.success() {
                    return Err(format!(
                        "{program} builds for {} with the feature {feature}",
                        toolchain.triple
                    ));
                }
                said += &everything(&output);
            }
            Ok(said)
        };
        self.toolchains.iter().map(refused).collect()
    }

    fn run(self, args: &[&str]) -> Result<(), String> {
        self.cargo()?.try_for_each(|cargo| cargo.args(args).capture().map(drop))
    }

    /// The level is that of every package whose code is in the programs. `core` keeps that of the profile, as it does where it comes
    /// ready from rustup, and is built only once for all levels where it comes from source; so are macros.
    fn cargo(self) -> Result<impl Iterator<Item = Run>, String> {
        let packages = packages()?;
        Ok(Toolchain::cargo_for_all(self.toolchains, "build").map(move |run| {
            let level = packages.iter().map(|package| {
                format!("profile.release.package.{package}.opt-level={}", self.quoted_level())
            });
            let run = run.dir(&folder()).args(["--release", "--locked"]);
            run.args(level.flat_map(|setting| ["--config".to_owned(), setting]))
        }))
    }

    /// In TOML a number stands bare.
    fn quoted_level(self) -> String {
        if self.level == "3" { self.level.to_owned() } else { format!("\"{}\"", self.level) }
    }
}

/// Where one of the programs lies, of the level that was built last.
pub fn program(toolchain: Toolchain, name: &str) -> PathBuf {
    toolchain.target_dir().join(toolchain.triple).join("release").join(name)
}

fn folder() -> PathBuf {
    workspace::root().join("firmware").join(PACKAGE)
}

/// The names of the packages whose code is in the programs.
fn packages() -> Result<&'static [String], String> {
    static PACKAGES: OnceLock<Result<Vec<String>, String>> = OnceLock::new();
    let known = PACKAGES.get_or_init(|| {
        let edges = ["--all-features", "--edges", "no-proc-macro,no-build,no-dev"];
        let tree =
            own_cargo().dir(&folder()).args(["tree", "--quiet", "--locked", "--prefix", "none"]).args(edges);
        let text = String::from_utf8_lossy(&tree.capture()?.stdout).into_owned();
        let mut names: Vec<String> =
            text.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect();
        names.sort();
        names.dedup();
        Ok(names)
    });
    known.as_deref().map_err(String::clone)
}

/// A machine of QEMU and how it counts.
pub struct Board {
    pub triple: &'static str,
    pub name: &'static str,
    emulator: &'static str,
    package: &'static str,
    options: &'static [&'static str],
    request_at: u32,
    /// What the linker script calls flash.
    pub flash: Range<u32>,
    instructions: fn(u64) -> u64,
}

/// A Cortex-M3. With `shift=10` an instruction takes 1024 ns, and the timer ticks every 40 ns.
pub const CORTEX_M3: Board = Board {
    triple: "thumbv7m-none-eabi",
    name: "mps2-an385",
    emulator: "qemu-system-arm",
    package: "qemu-system-arm",
    options: &["-M", "mps2-an385", "-icount", "shift=10,sleep=off"],
    request_at: 0x2100_0000,
    flash: 0..0x4_0000,
    instructions: |ticks| (ticks * 40 + 512) / 1024,
};

/// The same, for programs of a Cortex-M0+: all of its instructions are among those of a Cortex-M3, so as many are executed. QEMU's own
/// Cortex-M0 has no memory for long headers.
pub const CORTEX_M0: Board = Board { triple: "thumbv6m-none-eabi", ..CORTEX_M3 };

/// A RISC-V without atomics. With `shift=0` a cycle is an instruction.
pub const RISC_V: Board = Board {
    triple: "riscv32imc-unknown-none-elf",
    name: "virt",
    emulator: "qemu-system-riscv32",
    package: "qemu-system-misc",
    options: &["-M", "virt", "-bios", "none", "-icount", "shift=0"],
    request_at: 0x8100_0000,
    flash: 0x8000_0000..0x8004_0000,
    instructions: |ticks| ticks,
};

impl Board {
    pub fn need_emulator(&self) -> Result<(), String> {
        machine::need_program(self.emulator, self.package)
    }

    /// Runs a program with `request` in its memory.
    pub fn run(&self, program: PathBuf, request: &[u8]) -> Result<Figures, String> {
        let file = program.with_extension("request");
        workspace::write(&file, request)?;
        let load = format!("loader,file={},addr={:#x},force-raw=on", file.display(), self.request_at);
        let output = Run::new(self.emulator)
            .args(self.options)
            .args([
                "-nographic",
                "-semihosting-config",
                "enable=on,target=native",
                "-device",
                &load,
                "-kernel",
            ])
            .args([program])
            .limit(60)
            .capture()?;
        Ok(Figures(everything(&output)))
    }

    /// Instructions in so many ticks of the firmware's clock.
    pub fn instructions(&self, ticks: u64) -> u64 {
        (self.instructions)(ticks)
    }
}

/// What the firmware printed: `name=value` on lines of their own.
pub struct Figures(String);

impl Figures {
    pub fn get(&self, wanted: &str) -> Result<u64, String> {
        let mut pairs = self.0.lines().filter_map(|line| line.split_once('='));
        let value = pairs.find(|(name, _)| *name == wanted).and_then(|(_, value)| value.trim().parse().ok());
        value.ok_or_else(|| format!("no {wanted} in what the firmware printed:\n{}", self.0))
    }

    /// An error unless the job has read or counted as many as are due.
    pub fn has_done(&self, due: usize) -> Result<(), String> {
        match self.get("done")? {
            done if done == due as u64 => Ok(()),
            done => Err(format!("the job has read or counted {done}, not {due}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_that_of_what_is_in_the_programs_and_not_of_macros() {
        let known = |name: &str| packages().unwrap().iter().any(|package| package == name);
        for name in ["measure", "board", "embedded-safetensors", "half", "safetensors", "serde_json", "defmt"]
        {
            assert!(known(name), "{name} is not among {:?}", packages());
        }
        assert!(!known("syn") && !known("zerocopy-derive"), "{:?}", packages());
    }
}
