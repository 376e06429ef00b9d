//! Passes the linker its scripts here, because flags in the environment would replace those in
//! `.cargo/config.toml`.

use std::env;

fn main() {
    println!("cargo:rustc-link-search={}", env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo:rustc-link-arg-bins=--nmagic");
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    println!("cargo:rerun-if-changed=memory.x");
}
