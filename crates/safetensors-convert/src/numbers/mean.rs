//! The mean of distances whose sum may be more than a double holds.

/// From here on a distance counts in another unit: 2^63 smaller ones fit one sum.
const HUGE: f64 = f64::from_bits((1023 + 960) << 52);
const UNIT: f64 = f64::from_bits((1023 + 64) << 52);

/// Finite numbers of at least 0, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    usual: f64,
    huge: f64,
}

impl Mean {
    /// Adds one distance.
    pub fn add(&mut self, distance: f64) {
        if distance < HUGE { self.usual += distance } else { self.huge += distance / UNIT }
    }

    /// Of so many, those that are 0 and were not added included; 0 of none. Finite as what was added.
    pub fn of(self, count: u64) -> f64 {
        if count == 0 {
            return 0.0;
        }
        let count = count as f64;
        // Of none that is huge, to the last bit the quotient of the sum.
        (self.usual / count + self.huge / count * UNIT).min(f64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::Mean;

    fn mean(distances: &[f64], count: u64) -> f64 {
        let mut mean = Mean::default();
        distances.iter().for_each(|&distance| mean.add(distance));
        mean.of(count)
    }

    #[test]
    fn sums_of_any_size() {
        assert_eq!(mean(&[], 0), 0.0);
        assert_eq!(mean(&[0.1, 0.2], 3), (0.1 + 0.2) / 3.0);
        assert_eq!(mean(&[f64::MAX; 7], 7), f64::MAX);
        assert_eq!(mean(&[1e308, 1.5e308], 2), 1.25e308);
        assert_eq!(mean(&[1e308, 1e290], 2), (1e308 + 1e290) / 2.0);
        assert_eq!(mean(&[5e-324; 2], 2), 5e-324);
    }
}
