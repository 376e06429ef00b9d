//! Means of distances whose sum may overflow a double.

const UNIT: f64 = f64::from_bits((1023 + 64) << 52);

/// A sum of finite numbers of at least 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    small: f64,
    huge: f64,
}

impl Mean {
    /// Distances from here on are summed in another unit, in which 2^63 of them fit.
    pub(super) const HUGE: f64 = f64::from_bits((1023 + 960) << 52);

    /// Adds a distance.
    pub fn add(&mut self, distance: f64) {
        if distance < Self::HUGE { self.small += distance } else { self.huge += distance / UNIT }
    }

    /// Adds all distances of another sum.
    pub(super) fn add_all(&mut self, other: Self) {
        self.small += other.small;
        self.huge += other.huge;
    }

    /// Returns the mean of `count` distances, where those that are 0 need not have been added; 0 for none.
    /// It is finite.
    pub fn of(self, count: u64) -> f64 {
        if count == 0 {
            return 0.0;
        }
        let count = count as f64;
        // Without huge distances, this is exactly the quotient of the sum.
        (self.small / count + self.huge / count * UNIT).min(f64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::Mean;

    #[test]
    fn mean_is_right_for_sums_of_any_size() {
        for (distances, expected) in [
            (&[][..], 0.0),
            (&[0.1, 0.2], (0.1 + 0.2) / 2.0),
            (&[f64::MAX; 7], f64::MAX),
            (&[1e308, 1.5e308], 1.25e308),
            (&[1e308, 1e290], (1e308 + 1e290) / 2.0),
            (&[5e-324; 2], 5e-324),
        ] {
            let mut mean = Mean::default();
            distances.iter().for_each(|&distance| mean.add(distance));
            assert_eq!(mean.of(distances.len() as u64), expected);
        }
    }
}
