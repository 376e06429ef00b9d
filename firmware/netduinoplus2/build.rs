//! Passes the linker the memory layout of the chip.

use std::env;

fn main() {
    println!("cargo:rustc-link-search={}", env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    if env::var_os("CARGO_FEATURE_LOG").is_some() {
        println!("cargo:rustc-link-arg-bins=-Tdefmt.x");
    }
    println!("cargo:rerun-if-changed=memory.x");
}
