//! Any numbers as headers with similar names: their index is a map.
#![no_main]
#![allow(dead_code, unused_imports)]

#[path = "../index.rs"]
mod index;

use libfuzzer_sys::fuzz_target;
use support::random::Random;

fuzz_target!(|input: &[u8]| {
    let _verdict = index::check(&mut Random::of(input));
});
