//! Shows the linker the maps of the machines that measure.

use std::env;

fn main() {
    println!("cargo:rustc-link-search={}/machine", env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo:rerun-if-changed=machine");
}
