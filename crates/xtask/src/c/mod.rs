//! The C API: compilers for microcontrollers, the library that programs link, and the stage that tests both.

mod boards;
mod host;

use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::Toolchain;
use crate::workers::side_by_side;
use crate::{machine, workspace};
use std::path::{Path, PathBuf};

/// The C library for microcontrollers that Debian has for both architectures.
const LIBC: &str = "--specs=picolibc.specs";

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-pedantic", "-Werror"];

/// Parts of the names of symbols that no program linked with the library has, on computers and on boards.
const UNWANTED: [&str; 8] = ["panic", "unwind", "malloc", "calloc", "realloc", "free", "sbrk", "__rust_"];

/// Tests the C API on this computer and on emulated boards.
pub fn all() -> Outcome {
    let outcomes = side_by_side([host::test, boards::test], |test: fn() -> Outcome| test());
    Ok(outcomes.into_iter().collect::<Result<Vec<Tally>, _>>()?.into_iter().sum())
}

/// Installs all that the stage needs, or says what is missing.
pub fn prepare() -> Vec<Result<(), String>> {
    host::prepare().into_iter().chain(boards::prepare()).collect()
}

/// A compiler for C, with its options for a target of Rust.
pub struct Compiler {
    triple: &'static str,
    program: &'static str,
    packages: [&'static str; 2],
    cpu: &'static [&'static str],
}

const ARM: Compiler = Compiler {
    triple: "thumbv7m-none-eabi",
    program: "arm-none-eabi-gcc",
    packages: ["gcc-arm-none-eabi", "picolibc-arm-none-eabi"],
    cpu: &["-mthumb", "-mcpu=cortex-m3"],
};

const RISC_V: Compiler = Compiler {
    triple: "riscv32imc-unknown-none-elf",
    program: "riscv64-unknown-elf-gcc",
    packages: ["gcc-riscv64-unknown-elf", "picolibc-riscv64-unknown-elf"],
    cpu: &["-mabi=ilp32", "-mcmodel=medany", "-march=rv32imc"],
};

const COMPILERS: [Compiler; 3] =
    [Compiler { triple: "thumbv6m-none-eabi", cpu: &["-mthumb", "-mcpu=cortex-m0plus"], ..ARM }, ARM, RISC_V];

impl Compiler {
    pub fn of(triple: &str) -> Result<&'static Self, String> {
        let compiler = COMPILERS.iter().find(|compiler| compiler.triple == triple);
        compiler.ok_or_else(|| format!("no C compiler is known for {triple}"))
    }

    /// Installs it and its C library, or says what is missing.
    pub fn need(&self) -> Result<(), String> {
        let probe = || Run::new(self.program).args([LIBC, "-E", "-x", "c", "/dev/null"]);
        machine::need(&format!("{} with picolibc", self.program), &self.packages, || {
            machine::find(self.program).is_some() && probe().capture().is_ok()
        })
    }

    /// Links a program from these sources and the library, with more options.
    pub fn link(
        &self,
        toolchain: Toolchain,
        sources: impl IntoIterator<Item = PathBuf>,
        options: &[&str],
        program: &Path,
    ) -> Result<(), String> {
        workspace::write(program, b"")?;
        Run::new(self.program)
            .args([LIBC, "-std=c99", "-Os", "-ffunction-sections", "-fdata-sections"])
            .args(self.cpu)
            .args(WARNINGS)
            .args(["-I".into(), directory().join("include")])
            .args(sources)
            .args([library(toolchain)])
            .args(["-Wl,--gc-sections", "-Wl,-z,noexecstack", "-Wl,--no-warn-rwx-segments"])
            .args(options)
            .args([Path::new("-o"), program])
            .capture()
            .map(drop)
    }
}

/// Returns the directory of the package.
pub fn directory() -> PathBuf {
    workspace::root().join("crates/safetensors-c")
}

/// Builds the library. A program in which a panic is reachable does not link with it.
pub fn build_library(toolchains: &[Toolchain]) -> Result<(), String> {
    let release = ["--release", "--locked", "--quiet", "--features", "no-panic"];
    toolchains.iter().try_for_each(|toolchain| {
        toolchain.cargo("build").dir(&directory()).args(release).capture().map(drop)
    })
}

/// Returns the path of the library.
pub fn library(toolchain: Toolchain) -> PathBuf {
    toolchain.target_dir().join(toolchain.triple).join("release/libsafetensors.a")
}

/// Runs the program that writes packs and compares logs: `pack FILE LONGEST` or `compare FILE LONGEST`.
/// Returns its last line.
fn tools(command: &str, file: &Path, longest: &str) -> Result<String, String> {
    let program = ["run", "--quiet", "--package", "verification", "--bin", "c", "--", command];
    let run = crate::toolchain::own_cargo().args(program).args([file]).args([longest]);
    Ok(last_line(&run.capture()?.stdout))
}

fn last_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).lines().last().unwrap_or_default().to_owned()
}
