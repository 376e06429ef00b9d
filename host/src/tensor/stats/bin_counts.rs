//! Counters of 32 bits, which are emptied into sums of 64 bits before they are full.

/// Counts that fit before they are moved to the sums.
pub const FULL: u64 = 1 << 31;

/// How often each of several things was seen.
pub struct BinCounts {
    counts: Vec<u32>,
    counted: u64,
    /// Counts that did not fit.
    sums: Vec<u64>,
}

impl BinCounts {
    pub fn new(len: usize) -> Self {
        Self { counts: vec![0; len], counted: 0, sums: Vec::new() }
    }

    /// The counters, which may be raised so many times in total.
    pub fn for_more(&mut self, raised: u64) -> &mut [u32] {
        if self.counted + raised > FULL {
            self.carry();
        }
        self.counted += raised;
        &mut self.counts
    }

    fn carry(&mut self) {
        self.sums.resize(self.counts.len(), 0);
        self.sums.iter_mut().zip(&self.counts).for_each(|(sum, count)| *sum += u64::from(*count));
        self.counts.fill(0);
        self.counted = 0;
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: &Self) {
        if other.sums.is_empty() && self.counted + other.counted <= FULL {
            self.counts.iter_mut().zip(&other.counts).for_each(|(count, other)| *count += *other);
            self.counted += other.counted;
            return;
        }
        self.carry();
        for (index, sum) in self.sums.iter_mut().enumerate() {
            *sum += other.at(index);
        }
    }

    pub fn at(&self, index: usize) -> u64 {
        u64::from(self.counts[index]) + self.sums.get(index).copied().unwrap_or(0)
    }

    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// As if so many had been counted that no more fit.
    #[cfg(test)]
    pub fn fill_up(&mut self) {
        self.counted = FULL;
    }

    pub fn clear(&mut self) {
        if self.counted == 0 && self.sums.is_empty() {
            return;
        }
        self.counts.fill(0);
        self.counted = 0;
        self.sums.clear();
    }
}
