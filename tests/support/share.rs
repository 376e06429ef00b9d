//! How many of the slow cases a run tests: all, or a share for a quick run.

use std::sync::OnceLock;

use vectors::Vector;

/// Tests one in `SUITE_SHARE` cases, if that is set.
fn share() -> usize {
    static SHARE: OnceLock<usize> = OnceLock::new();
    let read =
        || std::env::var("SUITE_SHARE").map_or(1, |text| text.parse().expect("SUITE_SHARE is a number"));
    *SHARE.get_or_init(|| read().max(1))
}

/// Returns `SUITE_SEED`. Each seed gives other random cases, and another share.
pub fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    let read = || std::env::var("SUITE_SEED").map_or(0, |text| text.parse().expect("a number"));
    *SEED.get_or_init(read)
}

/// Returns a small number that depends on the seed.
pub fn offset() -> usize {
    usize::try_from(seed() % (1 << 30)).expect("fits in usize")
}

/// Whether this run tests the case of this number.
pub fn takes(number: usize) -> bool {
    number % share() == offset() % share()
}

/// Returns the number of cases, or of the share.
pub fn of(cases: u64) -> u64 {
    (cases / share() as u64).max(1)
}

/// Returns the share of these cases, at least one. Different numbers select different parts of a list.
pub fn part<T>(cases: impl IntoIterator<Item = T>, number: usize) -> impl Iterator<Item = T> {
    let cases: Vec<T> = cases.into_iter().collect();
    let step = share().min(cases.len()).max(1);
    cases.into_iter().skip((offset() + number) % step).step_by(step)
}

/// One of two halves of the vectors, each of which is a test of its own: both keep a core busy.
#[derive(Clone, Copy, Debug)]
pub struct Half(pub usize);

impl Half {
    /// Returns its vectors up to this length, and up to `SUITE_LONGEST` if that is set. They are read into
    /// memory.
    pub fn vectors(self, longest: usize) -> impl Iterator<Item = Vector> {
        let most = std::env::var("SUITE_LONGEST").map(|text| text.parse().expect("a number"));
        let longest = most.map_or(longest, |most: usize| most.min(longest));
        let vectors = vectors::load().vectors.into_iter().filter(move |vector| vector.length <= longest);
        vectors.skip(self.0).step_by(2)
    }

    /// Returns them, but of the large ones only the share of this run.
    pub fn few_large(self) -> impl Iterator<Item = Vector> {
        let vectors = self.vectors(usize::MAX).enumerate();
        vectors.filter(|(number, vector)| !vector.is_large() || takes(*number)).map(|(_, vector)| vector)
    }

    /// Runs a check of its vectors up to this length.
    ///
    /// # Panics
    /// If vectors fail the check, or there are too few of them. All failures are listed.
    pub fn each(self, longest: usize, check: impl Fn(&Vector, &[u8]) -> Result<(), String>) {
        let vectors: Vec<Vector> = self.vectors(longest).collect();
        let failure =
            |vector: &Vector| Some(format!("{}: {}", vector.id, check(vector, &vector.bytes()).err()?));
        let failures: Vec<String> = vectors.iter().filter_map(failure).collect();
        assert!(vectors.len() > 450, "only {} vectors are left", vectors.len());
        assert!(failures.is_empty(), "{} vectors fail:\n{}", failures.len(), failures.join("\n"));
    }
}
