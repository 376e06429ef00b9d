//! Random dictionaries become the files that the rules of the format say, and that the reference writes.

use verification::dictionary::{Dictionary, Kinds, Named};
use verification::random::Random;

/// More with the environment variable `DICTIONARIES`.
fn count() -> u64 {
    std::env::var("DICTIONARIES").map_or(12_000, |text| text.parse().expect("a number"))
}

/// Other dictionaries with `DIFFERENTIAL_SEED`.
fn first_seed() -> u64 {
    std::env::var("DIFFERENTIAL_SEED").map_or(0, |text| text.parse().expect("a number"))
}

/// Each with its seed, which is said when something is wrong with it.
fn dictionaries() -> impl Iterator<Item = (u64, Dictionary)> {
    (0..count()).map(|number| {
        let seed = first_seed().wrapping_add(number);
        (seed, Dictionary::random(Kinds::All, &mut Random::new(seed)))
    })
}

#[test]
fn random_dictionaries_have_everything() {
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
fn what_the_format_says_is_read_as_it_was_meant() {
    for (seed, dictionary) in dictionaries().take(3000) {
        let found = verification::writing::read(&dictionary.file());
        assert!(
            found.sorted() == dictionary.clone().sorted(),
            "seed {seed}: {dictionary:?} is read otherwise"
        );
    }
}

#[cfg(feature = "oracle")]
#[test]
fn what_the_format_says_is_what_the_reference_writes() {
    for (seed, dictionary) in dictionaries() {
        let theirs = verification::reference_writer::write(&dictionary);
        assert!(
            theirs.as_ref() == Ok(&dictionary.file()),
            "seed {seed}: {dictionary:?} becomes another file"
        );
    }
}
