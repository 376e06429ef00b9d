//! Shows the linker the maps of the machines that measure, and says where words must be aligned.

use std::env;

fn main() {
    let variable = |name| env::var(name).unwrap_or_default();
    println!("cargo:rustc-link-search={}/machine", variable("CARGO_MANIFEST_DIR"));
    println!("cargo:rustc-check-cfg=cfg(aligned_words)");
    if variable("TARGET").starts_with("thumbv6m") {
        println!("cargo:rustc-cfg=aligned_words");
    }
    println!("cargo:rerun-if-changed=machine");
}
