//! Random tests of the suite, with numbers that a fuzzer gives.
#![allow(dead_code, unused_imports, unused_macros)]

/// The tests are those of the suite.
macro_rules! halves {
    ($($test:ident)+) => {};
}

#[path = "../slicing/random.rs"]
mod bytes;
#[path = "../files"]
mod files {
    pub mod editing;
    pub mod temp_dir;
    pub mod writing;
}
#[path = "../index.rs"]
mod index;
#[path = "../receiver.rs"]
mod receiver;
#[path = "../recording/mod.rs"]
mod recording;
#[path = "../slicing/values.rs"]
mod slices;
#[path = "../values.rs"]
mod values;

use files::temp_dir::TempDir;
use support::dictionary::{Dictionary, Kinds};
use support::random::Random;
use support::writing::write;

pub fn slices(random: &mut Random) {
    let checks: [fn(&mut Random); 3] = [bytes::check, slices::check, values::check];
    checks[random.below(3)](random);
}

pub fn index(random: &mut Random) {
    let _verdict = index::check(random);
}

pub fn files(random: &mut Random) {
    let dir = TempDir::new();
    match random.below(4) {
        0 => files::writing::check(&dir.join("m"), random),
        1 => {
            let dictionary = Dictionary::random(Kinds::All, random);
            assert!(write(&dictionary) == dictionary.file());
        }
        _ => files::editing::check(&dir, random),
    }
}

pub fn receivers(random: &mut Random) {
    if random.percent(30) { receiver::check(random) } else { recording::weakest::check(random) }
}
