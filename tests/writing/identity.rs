//! Random dictionaries become the files that the rules of the format say, and that the reference writes.

use support::dictionary::{Dictionary, Kinds};
use support::random::Random;
use support::share;
use support::writing::{read, write};

/// More with the environment variable `DICTIONARIES`, fewer with `SUITE_SHARE`.
fn count() -> u64 {
    let all = std::env::var("DICTIONARIES").map_or(12_000, |text| text.parse().expect("a number"));
    // Enough to have something of every kind.
    share::of(all).max(3000)
}

/// Returns each with its seed, which failures report.
fn dictionaries() -> impl Iterator<Item = (u64, Dictionary)> {
    (0..count()).map(|number| {
        let seed = share::seed().wrapping_add(number);
        (seed, Dictionary::random(Kinds::All, &mut Random::new(seed)))
    })
}

#[test]
fn random_dictionaries_follow_the_format() {
    let mut spaces = [0u64; 8];
    for (seed, dictionary) in dictionaries() {
        let file = write(&dictionary);
        assert!(file == dictionary.file(), "seed {seed}: {dictionary:?}");
        let found = read(&file);
        assert!(write(&found) == file, "seed {seed}: {dictionary:?} is read, but not written again");
        assert!(
            found.sorted() == dictionary.clone().sorted(),
            "seed {seed}: {dictionary:?} is read differently"
        );
        spaces[dictionary.header().len().next_multiple_of(8) - dictionary.header().len()] += 1;
    }
    assert!(spaces.iter().all(|&count| count > 0), "headers end with 0 to 7 spaces: {spaces:?}");
}

#[cfg(feature = "oracle")]
mod reference {
    use super::dictionaries;
    use support::reference_writer as reference;
    use support::writing::{read, write};

    #[test]
    fn random_dictionaries_match_reference() {
        for (seed, dictionary) in dictionaries() {
            let ours = write(&dictionary);
            let theirs = reference::write(&dictionary).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert!(ours == theirs, "seed {seed}: {dictionary:?} becomes another file");
            let sorted = dictionary.sorted();
            let found = reference::read(&ours);
            assert!(found.as_ref() == Ok(&sorted), "seed {seed}: the reference reads {found:?}");
            let found = read(&theirs);
            assert!(write(&found) == theirs, "seed {seed}: the read dictionary is not written as it was");
            assert!(found.sorted() == sorted, "seed {seed}: {sorted:?} is read differently");
        }
    }
}
