//! Any numbers as models that are written, edited, joined and saved: the files are those that the reference
//! would write.
#![no_main]
#![allow(dead_code, unused_imports)]

#[path = "../files"]
mod files {
    pub mod editing;
    pub mod temp_dir;
    pub mod writing;
}

use files::temp_dir::TempDir;
use libfuzzer_sys::fuzz_target;
use support::dictionary::{Dictionary, Kinds};
use support::random::Random;
use support::writing::write;

fuzz_target!(|input: &[u8]| {
    let (random, dir) = (&mut Random::of(input), TempDir::new());
    match random.below(4) {
        0 => files::writing::check(&dir.join("m"), random),
        1 => {
            let dictionary = Dictionary::random(Kinds::All, random);
            assert!(write(&dictionary) == dictionary.file());
        }
        _ => files::editing::check(&dir, random),
    }
});
