//! Adds the linker scripts of the measuring devices to the search path.

use std::env;

fn main() {
    println!("cargo:rustc-link-search={}/machine", env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo:rerun-if-changed=machine");
}
