//! Integers of shapes and offsets.

use crate::util::bytes::{WORDS, low_u32};

/// Takes the digits at the start of `text` onto `value`, as far as the number fits into 64 bits, and gives
/// what follows them.
///
/// The first loop has 32 bits, in which smaller machines are faster.
#[inline]
pub(super) const fn digits<const IN_CONST: bool>(value: u64, text: &[u8]) -> (u64, &[u8]) {
    if IN_CONST || value > MOST as u64 {
        return more_digits(value, text);
    }
    if let (true, Some((word, behind))) = (WORDS, text.split_first_chunk()) {
        let (digits, len) = leading_digits(u64::from_le_bytes(*word));
        let number = value * TEN_TO[len & 15] + digits;
        return match text.split_at_checked(len) {
            Some((_, rest)) if len < 8 => (number, rest),
            _ => more_digits(number, behind),
        };
    }
    let (mut low, mut left) = (low_u32(value), text);
    while let [digit, rest @ ..] = left {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 || low > MOST {
            break;
        }
        low = low * 10 + digit as u32;
        left = rest;
    }
    if low > MOST { more_digits(low as u64, left) } else { (low as u64, left) }
}

/// The number that the digits at the start of a word are, the first of them in the lowest byte, and how many
/// they are. Without a branch, for processors guess wrong where a number ends.
#[inline(always)]
const fn leading_digits(word: u64) -> (u64, usize) {
    const ONES: u64 = u64::MAX / 255;
    const EVERY_FOURTH: u64 = 0x0000_00FF_0000_00FF;
    let digits = word ^ (ONES * b'0' as u64);
    // The lowest bit is right: carries go upwards.
    let others = (digits.wrapping_add(ONES * 0x76) | digits) & (ONES * 0x80);
    let len = others.trailing_zeros() >> 3;
    // Of none and of eight digits no bit is left, or all are.
    let digits = match len {
        8 => digits,
        _ => digits << 1 << (63 - 8 * len),
    };
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let first = (pairs & EVERY_FOURTH).wrapping_mul((1_000_000 << 32) | 100);
    let second = ((pairs >> 16) & EVERY_FOURTH).wrapping_mul((10_000 << 32) | 1);
    (first.wrapping_add(second) >> 32, len as usize)
}

const TEN_TO: [u64; 16] = {
    let (mut powers, mut left) = ([1; 16], 1);
    while left < 9 {
        powers[left] = powers[left - 1] * 10;
        left += 1;
    }
    powers
};

/// With one more digit there are no more than 32 bits.
const MOST: u32 = (u32::MAX - 9) / 10;

/// Compares before it multiplies: a checked multiplication of 64 bits costs a 32-bit core a call.
#[inline(never)]
pub(super) const fn more_digits(value: u64, text: &[u8]) -> (u64, &[u8]) {
    let (mut number, mut left) = (value, text);
    while let [byte @ b'0'..=b'9', rest @ ..] = left {
        let digit = (*byte & 0x0F) as u64;
        if number > u64::MAX / 10 || (number == u64::MAX / 10 && digit > u64::MAX % 10) {
            break;
        }
        number = number * 10 + digit;
        left = rest;
    }
    (number, left)
}
