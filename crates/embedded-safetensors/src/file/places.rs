//! The places of names in a list that is kept elsewhere, so that no name is kept twice.

use std::hash::{BuildHasher, RandomState};
use std::vec;
use std::vec::Vec;

/// Nothing is here.
const NONE: u32 = u32::MAX;

/// A table of hashes, at least half of which is free: a name is where its hash says, or behind that before the next free one.
pub(super) struct Places {
    /// By chance, so that no file can be made whose names all lie at one place.
    chance: RandomState,
    slots: Vec<u32>,
}

impl Places {
    /// Of the names in this order.
    pub(super) fn of<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> Self {
        let slots = vec![NONE; names.len().saturating_mul(2).next_power_of_two()];
        let mut places = Self { chance: RandomState::new(), slots };
        for (place, name) in (0..NONE).zip(names) {
            let start = places.start(name);
            let (before, behind) = places.slots.split_at_mut(start);
            let free = behind.iter_mut().chain(before).find(|slot| **slot == NONE);
            free.into_iter().for_each(|slot| *slot = place);
        }
        places
    }

    /// The places where this name may be, if it is anywhere.
    pub(super) fn of_name(&self, name: &str) -> impl Iterator<Item = usize> {
        let (before, behind) = self.slots.split_at(self.start(name));
        let places = behind.iter().chain(before).take_while(|&&place| place != NONE);
        places.filter_map(|&place| usize::try_from(place).ok())
    }

    fn start(&self, name: &str) -> usize {
        let mask = self.slots.len().saturating_sub(1);
        usize::try_from(self.chance.hash_one(name) & mask as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::Places;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    #[test]
    fn every_name_is_found_and_no_other() {
        for count in [0, 1, 2, 3, 1000] {
            let names: Vec<String> = (0..count).map(|index| format!("t{index}")).collect();
            let places = Places::of(names.iter().map(String::as_str));
            for (place, name) in names.iter().enumerate() {
                assert!(places.of_name(name).any(|candidate| candidate == place));
            }
            assert!(places.of_name("other").all(|candidate| candidate < count));
            // Half of the table is free: what is not there is soon known.
            assert!(places.of_name("other").count() < 64);
        }
    }
}
