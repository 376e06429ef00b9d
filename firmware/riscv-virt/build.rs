//! Passes the linker the memory layout of the device.

use std::env;

fn main() {
    println!("cargo:rustc-link-search={}", env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    println!("cargo:rustc-link-arg-bin=minilm=--defsym=all_ram=1");
    println!("cargo:rerun-if-changed=memory.x");
}
