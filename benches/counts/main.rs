//! The main paths on a desktop, one after another, each in a call of one function, whose instructions callgrind counts:
//! `cargo xtask measure desktop` runs this, and judges what was counted by `benches/limits.toml`.
//!
//! Prints the name of each path before it is taken. Nothing here may depend on time or chance, nor on the machine.

mod data;
mod files;
mod headers;
#[path = "../one_tensor.rs"]
mod one_tensor;
mod reading;
#[path = "../vector.rs"]
mod vector;
mod writing;

use std::hint::black_box;

fn main() {
    reading::take();
    data::take();
    writing::take();
    files::take();
}

/// Takes a path twice, and has the second time counted: by then whatever is made once has been made.
fn path(name: &str, mut take: impl FnMut()) {
    println!("{name}");
    take();
    counted(&mut take);
}

/// Callgrind counts what happens in here, and finds it by this name.
#[inline(never)]
fn counted(take: &mut dyn FnMut()) {
    black_box(take)();
}
