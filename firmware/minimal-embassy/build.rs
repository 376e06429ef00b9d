//! Links for the memory of the board.

use std::env;

fn main() {
    println!("cargo:rustc-link-search={}", env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    println!("cargo:rerun-if-changed=memory.x");
}
