//! Selects the linker script of the device, from those of the package `board`, and compiles the job in C.

use std::env;
use std::path::Path;
use std::process::Command;

const ARM: [&str; 3] = ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m3"];
const SMALL_ARM: [&str; 3] = ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m0plus"];
const RISC_V: [&str; 4] = ["riscv64-unknown-elf-gcc", "-march=rv32imc", "-mabi=ilp32", "-mcmodel=medany"];

fn main() {
    let arch = variable("CARGO_CFG_TARGET_ARCH");
    let machine = if arch == "riscv32" { "virt.x" } else { "mps2-an385.x" };
    println!("cargo:rustc-link-arg-bins=-T{machine}");
    // The reference has a heap, and so static memory.
    if env::var_os("CARGO_FEATURE_PANICS").is_none() {
        println!("cargo:rustc-link-arg-bins=-Tno-statics.x");
    }
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_C").is_some() {
        compile(&variable("TARGET"));
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

/// Compiles the job in C, and links it and the library into the program.
fn compile(target: &str) {
    let [gcc, cpu @ ..] = (match target {
        "thumbv6m-none-eabi" => &SMALL_ARM[..],
        "riscv32imc-unknown-none-elf" => &RISC_V,
        _ => &ARM,
    }) else {
        return;
    };
    let object = Path::new(&variable("OUT_DIR")).join("job.o");
    let library = format!("{}/{target}/release/libsafetensors.a", variable("SAFETENSORS_C"));
    let compiler = Command::new(gcc)
        .args(cpu)
        .args(["-Os", "-ffreestanding", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"])
        .args(["-ffunction-sections", "-fdata-sections", "-I../../crates/safetensors-c/include"])
        .args(["-c", "c/job.c", "-o"])
        .arg(&object)
        .status();
    assert!(compiler.is_ok_and(|status| status.success()), "{gcc} does not compile c/job.c");
    for part in [object.display().to_string(), library] {
        println!("cargo:rustc-link-arg-bin=job_c={part}");
        println!("cargo:rerun-if-changed={part}");
    }
    println!("cargo:rerun-if-changed=c/job.c");
    println!("cargo:rerun-if-env-changed=SAFETENSORS_C");
}
