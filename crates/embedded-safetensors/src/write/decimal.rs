//! Numbers in decimal.

use crate::util::bytes::{low_u8, low_u32};

/// No number has more digits.
pub(super) const MOST_DIGITS: usize = 20;

/// No number of so many digits has more than 32 bits.
const SHORT: usize = 9;

const POWERS: [u64; MOST_DIGITS] = {
    let mut powers = [1; MOST_DIGITS];
    let mut power = 1u64;
    let mut left: &mut [u64] = &mut powers;
    while let [rest @ .., last] = left {
        *last = power;
        power = power.saturating_mul(10);
        left = rest;
    }
    powers
};

/// How many digits it has.
pub(super) fn digits(number: u64) -> usize {
    // Every number has one, 0 too.
    let [above @ .., _] = &POWERS;
    above.iter().rev().take_while(|power| number >= **power).count() + 1
}

/// Writes it to the front of `room`, and says how long it is.
pub(super) fn write(number: u64, room: &mut [u8; MOST_DIGITS]) -> usize {
    let len = digits(number);
    fill(room.get_mut(..len).unwrap_or_default(), number);
    len
}

/// Writes it to a place that has room for its digits and for nothing else. Machines that divide in software would carry a library's
/// routine for it, so what fits into 32 bits is divided by a product.
pub(super) fn fill(place: &mut [u8], number: u64) {
    let (high, low) = place.split_at_mut_checked(place.len().saturating_sub(SHORT)).unwrap_or_default();
    let mut left = low_u32(if high.is_empty() { number } else { fill_high(high, number) });
    for slot in low.iter_mut().rev() {
        let tenth = low_u32((u64::from(left) * 0xCCCC_CCCD) >> 35);
        *slot = b'0'.wrapping_add(low_u8((left - tenth * 10) as usize));
        left = tenth;
    }
}

/// Writes the digits before the last [`SHORT`] ones, and gives what these are of: powers of ten are taken away one by one.
fn fill_high(place: &mut [u8], number: u64) -> u64 {
    let powers = POWERS.get((MOST_DIGITS - SHORT).saturating_sub(place.len())..).unwrap_or(&[]);
    let mut left = number;
    for (slot, power) in place.iter_mut().zip(powers) {
        *slot = b'0';
        while left >= *power {
            left -= power;
            *slot += 1;
        }
    }
    left
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn numbers_are_spelled_as_the_standard_library_spells_them() {
        let near = |number: u64| [number.wrapping_sub(1), number, number.wrapping_add(1)];
        let numbers = (0..64).flat_map(|bit| near(1 << bit)).chain(POWERS.into_iter().flat_map(near));
        for number in numbers.chain([0, u64::MAX, 9_999_999_999_999_999_999]) {
            let mut room = [0; MOST_DIGITS];
            let len = write(number, &mut room);
            assert_eq!(room[..len], *number.to_string().as_bytes());
            assert_eq!(digits(number), len);
        }
    }
}
