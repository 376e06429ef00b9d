//! The C API: compilers for microcontrollers, the library that programs link, and the stage that tests both.

mod boards;
mod host;

use crate::machine::Need;
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::Toolchain;
use crate::workers::side_by_side;
use crate::workspace;
use std::path::{Path, PathBuf};

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-pedantic", "-Werror"];

/// Parts of the names of symbols that no program linked with the library has, on computers and on boards.
const UNWANTED: [&str; 8] = ["panic", "unwind", "malloc", "calloc", "realloc", "free", "sbrk", "__rust_"];

/// How the library is built in which a panic must not be reachable.
const PANIC_FREE: &str = "--release --locked --quiet --no-default-features --features no-panic";

/// The compilers, emulators and other programs that the stage needs.
pub const NEEDS: [Need; 8] = [
    Need::Works("gcc -fsanitize=address,undefined -shared -x c /dev/null -o /dev/null", &["gcc"]),
    Need::Works("g++ -fsanitize=address,undefined -shared -x c++ /dev/null -o /dev/null", &["g++"]),
    Need::Works(
        "clang -fsanitize=address,undefined -shared -x c /dev/null -o /dev/null",
        &["clang", "libclang-rt-dev"],
    ),
    Need::Works("gcc -m32 -shared -x c /dev/null -o /dev/null", &["gcc", "gcc-multilib"]),
    Need::Program("cmake", "cmake"),
    Need::Program("make", "make"),
    Need::Targets(&["i686-unknown-linux-gnu"]),
    Need::Group(&BOARDS),
];

/// What builds and runs programs in Rust and in C for a Cortex-M3 and for RISC-V.
pub const BOARDS: [Need; 5] = [
    Need::Works(
        "arm-none-eabi-gcc --specs=picolibc.specs -E -x c /dev/null",
        &["gcc-arm-none-eabi", "picolibc-arm-none-eabi"],
    ),
    Need::Works(
        "riscv64-unknown-elf-gcc --specs=picolibc.specs -E -x c /dev/null",
        &["gcc-riscv64-unknown-elf", "picolibc-riscv64-unknown-elf"],
    ),
    Need::Program("qemu-system-arm", "qemu-system-arm"),
    Need::Program("qemu-system-riscv32", "qemu-system-misc"),
    Need::Targets(&["thumbv6m-none-eabi", "thumbv7m-none-eabi", "riscv32imc-unknown-none-elf"]),
];

/// Tests the C API on this computer and on emulated boards.
pub fn all() -> Outcome {
    let outcomes = side_by_side([host::test, host::projects, boards::test], |test: fn() -> Outcome| test());
    Ok(outcomes.into_iter().collect::<Result<Vec<Tally>, _>>()?.into_iter().sum())
}

/// Links a program from these sources and the library for a microcontroller, with more options.
fn link(
    toolchain: Toolchain,
    sources: impl IntoIterator<Item = PathBuf>,
    options: &[&str],
    program: &Path,
) -> Result<(), String> {
    let (compiler, cpu) = match toolchain.triple {
        "thumbv7m-none-eabi" => ("arm-none-eabi-gcc", "-mthumb -mcpu=cortex-m3"),
        _ => ("riscv64-unknown-elf-gcc", "-mabi=ilp32 -mcmodel=medany -march=rv32imc"),
    };
    workspace::write(program, b"")?;
    Run::new(compiler)
        .words(cpu)
        .words("--specs=picolibc.specs -std=c99 -Os -ffunction-sections -fdata-sections")
        .words("-Wl,--gc-sections -Wl,-z,noexecstack -Wl,--no-warn-rwx-segments")
        .args(WARNINGS)
        .args(["-I".into(), directory().join("include")])
        .args(sources)
        .args([library(toolchain)])
        .args(options)
        .args([Path::new("-o"), program])
        .capture()
        .map(drop)
}

/// Returns the directory of the package.
pub fn directory() -> PathBuf {
    workspace::root().join("crates/safetensors-c")
}

/// Builds the library. A program in which a panic is reachable does not link with it.
pub fn build_library(toolchains: &[Toolchain]) -> Result<(), String> {
    Toolchain::cargo_for_all(toolchains, "build").dir(&directory()).words(PANIC_FREE).capture().map(drop)
}

/// Returns the path of the library.
pub fn library(toolchain: Toolchain) -> PathBuf {
    workspace::target_dir().join(toolchain.triple).join("release/libsafetensors.a")
}
