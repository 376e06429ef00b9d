//! Builds and runs the programs of `firmware/measure`.

use crate::process::{Run, everything};
use crate::toolchain::{Toolchain, own_cargo};
use crate::{machine, workspace};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Parts of symbol names that occur only with panics, text formatting or unwinding.
pub const UNWANTED: [&str; 3] = ["panic", "4core3fmt", "unwind"];

const PACKAGE: &str = "measure";

/// The sections in flash.
pub const FLASH: [&str; 3] = [".text", ".rodata", ".data"];

/// The programs for some targets at one optimisation level.
#[derive(Clone, Copy)]
pub struct Firmware<'a> {
    pub toolchains: &'a [Toolchain],
    pub level: &'static str,
}

impl Firmware<'_> {
    /// Builds all programs except the reference's.
    pub fn build(self) -> Result<(), String> {
        self.run(&["--bins"])
    }

    /// Builds some of the programs.
    pub fn build_only(self, programs: &[&str]) -> Result<(), String> {
        self.run(&programs.iter().flat_map(|program| ["--bin", program]).collect::<Vec<_>>())
    }

    /// Builds a program with a feature.
    pub fn build_with(self, program: &str, feature: &str) -> Result<(), String> {
        self.run(&["--bin", program, "--features", feature])
    }

    /// Builds for all targets; if that fails, builds for each target alone, and returns the results in the
    /// order of the targets.
    pub fn each(self, build: impl Fn(Firmware<'_>) -> Result<(), String>) -> Vec<Result<(), String>> {
        match build(self) {
            Ok(()) => vec![Ok(()); self.toolchains.len()],
            Err(_) => {
                self.toolchains.chunks(1).map(|toolchains| build(Firmware { toolchains, ..self })).collect()
            }
        }
    }

    /// Builds a program that must not compile for any target, and returns the output for each; an error if
    /// it compiles for one.
    pub fn build_rejected(self, program: &str, feature: &str) -> Result<Vec<String>, String> {
        let rejected = |toolchain: &Toolchain| {
            let alone = Firmware { toolchains: std::slice::from_ref(toolchain), ..self };
            let mut output_text = String::new();
            for cargo in alone.cargo()? {
                let output = cargo.args(["--bin", program, "--features", feature]).output()?;
                if output.status.success() {
                    return Err(format!(
                        "{program} compiles for {} with the feature {feature}",
                        toolchain.triple
                    ));
                }
                output_text += &everything(&output);
            }
            Ok(output_text)
        };
        self.toolchains.iter().map(rejected).collect()
    }

    fn run(self, args: &[&str]) -> Result<(), String> {
        self.cargo()?.try_for_each(|cargo| cargo.args(args).capture().map(drop))
    }

    /// Sets the level for every package whose code is in the programs. `core` keeps the profile's level, as
    /// it does when it comes prebuilt from rustup; built from source, it is built once for all levels.
    /// Macros keep it too.
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

    /// Returns the level for TOML, where only strings have quotes.
    fn quoted_level(self) -> String {
        if self.level == "3" { self.level.to_owned() } else { format!("\"{}\"", self.level) }
    }
}

/// Returns the path of a program, at the level that was built last.
pub fn program(toolchain: Toolchain, name: &str) -> PathBuf {
    toolchain.target_dir().join(toolchain.triple).join("release").join(name)
}

fn folder() -> PathBuf {
    workspace::root().join("firmware").join(PACKAGE)
}

/// Returns the names of the packages whose code is in the programs.
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

/// A board that QEMU emulates, and how it counts.
pub struct Board {
    pub triple: &'static str,
    pub name: &'static str,
    emulator: &'static str,
    package: &'static str,
    /// The linker script in `firmware/board/machine`.
    pub linker_script: &'static str,
    options: &'static [&'static str],
    request_at: u32,
    /// The address range of flash in the linker script.
    pub flash: Range<u32>,
    instructions: fn(u64) -> u64,
}

/// A Cortex-M3. With `shift=10` an instruction takes 1024 ns, and the timer ticks every 40 ns.
pub const CORTEX_M3: Board = Board {
    triple: "thumbv7m-none-eabi",
    name: "mps2-an385",
    emulator: "qemu-system-arm",
    package: "qemu-system-arm",
    linker_script: "mps2-an385.x",
    options: &["-M", "mps2-an385", "-icount", "shift=10,sleep=off"],
    request_at: 0x2100_0000,
    flash: 0..0x4_0000,
    instructions: |ticks| (ticks * 40 + 512) / 1024,
};

/// The same board for programs of a Cortex-M0+. A Cortex-M3 has all of its instructions, so the counts are
/// the same. QEMU's own Cortex-M0 does not have the memory for long headers.
pub const CORTEX_M0: Board = Board { triple: "thumbv6m-none-eabi", ..CORTEX_M3 };

/// A RISC-V without atomics. With `shift=0` a cycle is an instruction.
pub const RISC_V: Board = Board {
    triple: "riscv32imc-unknown-none-elf",
    name: "virt",
    emulator: "qemu-system-riscv32",
    package: "qemu-system-misc",
    linker_script: "virt.x",
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

    /// Converts ticks of the firmware's clock to instructions.
    pub fn instructions(&self, ticks: u64) -> u64 {
        (self.instructions)(ticks)
    }
}

/// The output of the firmware: `name=value` on each line.
pub struct Figures(String);

impl Figures {
    pub fn get(&self, name: &str) -> Result<u64, String> {
        let mut pairs = self.0.lines().filter_map(|line| line.split_once('='));
        let value = pairs.find(|(found, _)| *found == name).and_then(|(_, value)| value.trim().parse().ok());
        value.ok_or_else(|| format!("the firmware's output has no {name}:\n{}", self.0))
    }

    /// Checks that the job has read or counted as many as expected.
    pub fn has_done(&self, expected: usize) -> Result<(), String> {
        match self.get("done")? {
            done if done == expected as u64 => Ok(()),
            done => Err(format!("the job has read or counted {done}, {expected} expected")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_the_code_in_programs_and_not_macros() {
        let known = |name: &str| packages().unwrap().iter().any(|package| package == name);
        for name in ["measure", "board", "embedded-safetensors", "half", "safetensors", "serde_json", "defmt"]
        {
            assert!(known(name), "{name} is not among {:?}", packages());
        }
        assert!(!known("syn") && !known("zerocopy-derive"), "{:?}", packages());
    }
}
