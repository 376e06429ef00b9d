//! Pseudorandom numbers that are the same in every run: SplitMix64.

/// A generator of numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the generator of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns any bytes, of this number.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.number().to_le_bytes()[0]).collect()
    }

    /// Returns a number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.number() % bound as u64).expect("below a usize")
    }

    /// Returns true in this percentage of calls.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.number() % 100 < percent
    }

    /// Returns one of these.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Shuffles the items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
