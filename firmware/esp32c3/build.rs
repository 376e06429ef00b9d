//! Passes the linker its script here, because flags in the environment would replace those in
//! `.cargo/config.toml`.

fn main() {
    println!("cargo:rustc-link-arg-bins=-Tlinkall.x");
}
