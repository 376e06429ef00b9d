//! Selects the linker script of the device, from those of the package `board`.

use std::env;

fn main() {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let machine = if arch == "riscv32" { "virt.x" } else { "mps2-an385.x" };
    println!("cargo:rustc-link-arg-bins=-T{machine}");
    // The reference has a heap, and so static memory.
    if env::var_os("CARGO_FEATURE_REFERENCE").is_none() {
        println!("cargo:rustc-link-arg-bins=-Tno-statics.x");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
