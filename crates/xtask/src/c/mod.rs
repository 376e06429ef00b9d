//! Programs in C for microcontrollers: their compilers, and the library that they link.

use crate::process::Run;
use crate::toolchain::Toolchain;
use crate::{machine, workspace};
use std::path::{Path, PathBuf};

/// The C library for microcontrollers that Debian has for both architectures.
const LIBC: &str = "--specs=picolibc.specs";

/// Parts of the names of symbols that no program linked with the library has, on computers and on boards.
pub const UNWANTED: [&str; 8] = ["panic", "unwind", "malloc", "calloc", "realloc", "free", "sbrk", "__rust_"];

/// A compiler for C, with its options for a target of Rust.
pub struct Compiler {
    pub triple: &'static str,
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

const COMPILERS: [Compiler; 4] = [
    Compiler { triple: "thumbv6m-none-eabi", cpu: &["-mthumb", "-mcpu=cortex-m0plus"], ..ARM },
    ARM,
    RISC_V,
    Compiler {
        triple: "riscv32imac-unknown-none-elf",
        cpu: &["-mabi=ilp32", "-mcmodel=medany", "-march=rv32imac"],
        ..RISC_V
    },
];

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
        let warnings = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"];
        Run::new(self.program)
            .args([LIBC, "-Os", "-ffunction-sections", "-fdata-sections"])
            .args(self.cpu)
            .args(warnings)
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
    let release = ["--release", "--locked", "--features", "no-panic"];
    Toolchain::cargo_for_all(toolchains, "build")
        .try_for_each(|cargo| cargo.dir(&directory()).args(release).capture().map(drop))
}

/// Returns the path of the library.
pub fn library(toolchain: Toolchain) -> PathBuf {
    toolchain.target_dir().join(toolchain.triple).join("release/libsafetensors.a")
}
