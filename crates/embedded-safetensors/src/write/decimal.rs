//! Numbers in decimal.

use crate::util::bytes::{low_u8, low_u32};

/// The maximum number of digits of a number.
pub(super) const MOST_DIGITS: usize = 20;

/// Every number of this many digits fits in 32 bits.
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

/// Returns the number of digits.
pub(super) fn digits(number: u64) -> usize {
    // Every number has at least one digit, 0 too.
    let [above @ .., _] = &POWERS;
    above.iter().rev().take_while(|power| number >= **power).count() + 1
}

/// Writes a number to the front of `buffer`, and returns its length.
pub(super) fn write(number: u64, buffer: &mut [u8; MOST_DIGITS]) -> usize {
    let len = digits(number);
    fill(buffer.get_mut(..len).unwrap_or_default(), number);
    len
}

/// Writes a number to `out`, which is exactly as long as its digits. The low digits are divided by
/// multiplication: on a target without a divider, a division links a library routine.
pub(super) fn fill(out: &mut [u8], number: u64) {
    let (high, low) = out.split_at_mut_checked(out.len().saturating_sub(SHORT)).unwrap_or_default();
    let mut left = low_u32(if high.is_empty() { number } else { fill_high(high, number) });
    for slot in low.iter_mut().rev() {
        let tenth = low_u32((u64::from(left) * 0xCCCC_CCCD) >> 35);
        *slot = b'0'.wrapping_add(low_u8((left - tenth * 10) as usize));
        left = tenth;
    }
}

/// Writes the digits before the last [`SHORT`] ones by repeated subtraction of powers of ten. Returns the
/// rest.
fn fill_high(out: &mut [u8], number: u64) -> u64 {
    let powers = POWERS.get((MOST_DIGITS - SHORT).saturating_sub(out.len())..).unwrap_or(&[]);
    let mut left = number;
    for (slot, power) in out.iter_mut().zip(powers) {
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
    fn numbers_match_to_string() {
        let near = |number: u64| [number.wrapping_sub(1), number, number.wrapping_add(1)];
        let numbers = (0..64).flat_map(|bit| near(1 << bit)).chain(POWERS.into_iter().flat_map(near));
        for number in numbers.chain([0, u64::MAX, 9_999_999_999_999_999_999]) {
            let mut buffer = [0; MOST_DIGITS];
            let len = write(number, &mut buffer);
            assert_eq!(buffer[..len], *number.to_string().as_bytes());
            assert_eq!(digits(number), len);
        }
    }
}
