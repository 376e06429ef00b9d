//! Hands the linker its script: from here, for flags in the environment would replace those in
//! `.cargo/config.toml`.

fn main() {
    println!("cargo:rustc-link-arg-bins=-Tlinkall.x");
}
