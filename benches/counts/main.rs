//! Runs the main paths on a desktop, one after another, each in a call of one function, whose instructions
//! callgrind counts. `cargo xtask measure desktop` runs this program, and compares the counts with
//! `benches/limits.toml`.
//!
//! Prints the name of each path before it runs. Nothing here may depend on time, randomness or the
//! computer.

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

/// Runs a path twice and counts the second run, so that one-time initialisation is not counted.
fn path(name: &str, mut take: impl FnMut()) {
    println!("{name}");
    take();
    counted(&mut take);
}

/// Callgrind counts the instructions of this function, and finds it by its name.
#[inline(never)]
fn counted(take: &mut dyn FnMut()) {
    black_box(take)();
}
