//! Any numbers as tensors, and slices of them, from every kind of source: bytes and values are those of a
//! naive model.
#![no_main]
#![allow(dead_code, unused_imports, unused_macros)]

/// The tests are those of the suite.
macro_rules! halves {
    ($($test:ident)+) => {};
}

#[path = "../slicing/random.rs"]
mod bytes;
#[path = "../slicing/values.rs"]
mod slices;
#[path = "../values.rs"]
mod values;

use libfuzzer_sys::fuzz_target;
use support::random::Random;

fuzz_target!(|input: &[u8]| {
    let random = &mut Random::of(input);
    match random.below(3) {
        0 => bytes::check(random),
        1 => slices::check(random),
        _ => values::check(random),
    }
});
