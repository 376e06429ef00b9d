//! Random dictionaries become the files that the rules of the format say, and that the reference writes.

use support::dictionary::{Dictionary, Kinds, Named};
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
fn random_dictionaries_cover_everything() {
    let tensors: Vec<Named> =
        dictionaries().take(3000).flat_map(|(_, dictionary)| dictionary.tensors).collect();
    let has = |what: &dyn Fn(&Named) -> bool| tensors.iter().any(what);
    for dtype in embedded_safetensors::Dtype::ALL {
        assert!(has(&|tensor| tensor.dtype() == *dtype), "{dtype}");
    }
    assert!((0..=20).all(|rank| has(&|tensor| tensor.dims.len() == rank)));
    assert!(has(&|tensor| tensor.dims.is_empty()) && has(&|tensor| tensor.bytes.is_empty()));
    for name in ["", "\0", "\"", "\\", "\u{7f}", "\u{2028}", "\u{ffff}", "\u{10ffff}"] {
        assert!(has(&|tensor| tensor.name.contains(name)), "{name:?}");
    }
    assert!(has(&|tensor| tensor.name.is_empty()) && has(&|tensor| tensor.name.len() > 1000));
    let sizes: Vec<_> = dictionaries().map(|(_, dictionary)| dictionary.tensors.len()).collect();
    assert!([0, 1, 2, 60, 1000].iter().all(|size| sizes.contains(size)));
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

#[test]
fn headers_are_padded_to_a_multiple_of_eight() {
    for len in 0..64 {
        let tensor = Named { name: "n".repeat(len), dtype: "U8".to_owned(), dims: vec![1], bytes: vec![7] };
        let dictionary = Dictionary { tensors: vec![tensor], metadata: None };
        let file = write(&dictionary);
        assert_eq!(file, dictionary.file());
        assert_eq!(file.len() % 8, 1);
        assert!(file.len() - 9 - dictionary.header().len() < 8);
    }
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
