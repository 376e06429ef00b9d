//! Pseudorandom numbers that are the same in every run: SplitMix64. A fuzzer gives the first ones.

/// A generator of numbers.
#[derive(Clone, Debug)]
pub struct Random {
    /// The bytes that a fuzzer has given, the next one at the end.
    given: Vec<u8>,
    state: u64,
}

impl Random {
    /// Creates the generator of this seed.
    pub fn new(seed: u64) -> Self {
        Self { given: vec![], state: seed }
    }

    /// Creates a generator of numbers that are made of these bytes, as few for each as it needs, and then of
    /// a seed.
    pub fn of(bytes: &[u8]) -> Self {
        Self { given: bytes.iter().rev().copied().collect(), ..Self::new(0) }
    }

    /// Returns any number of at most so many bytes, or a longer one that no fuzzer has given.
    fn draw(&mut self, len: usize) -> u64 {
        if !self.given.is_empty() {
            return (0..len).fold(0, |number, _| number << 8 | u64::from(self.given.pop().unwrap_or(0)));
        }
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns any number.
    pub fn number(&mut self) -> u64 {
        self.draw(8)
    }

    /// Returns any bytes, of this number.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.draw(1).to_le_bytes()[0]).collect()
    }

    /// Returns a number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        let len = bound.ilog2() as usize / 8 + 1;
        usize::try_from(self.draw(len) % bound as u64).expect("below a usize")
    }

    /// Returns true in this percentage of calls.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.draw(1) % 100 < percent
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
