//! Any numbers as files that arrive in any pieces, or are recorded, while calls of the storage fail and the
//! power may be cut at each; and as values that arrive.
#![no_main]
#![allow(dead_code, unused_imports, unused_macros)]

macro_rules! halves {
    ($($test:ident)+) => {};
}

#[path = "../receiver.rs"]
mod receiver;
#[path = "../recording/mod.rs"]
mod recording;

use libfuzzer_sys::fuzz_target;
use support::random::Random;

fuzz_target!(|input: &[u8]| {
    let random = &mut Random::of(input);
    if random.percent(30) { receiver::check(random) } else { recording::weakest::check(random) }
});
