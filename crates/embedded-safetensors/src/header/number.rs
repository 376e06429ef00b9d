//! Integers of shapes and offsets.

use crate::util::bytes::{WORDS, low_u32};

/// Appends the digits at the start of `text` to `value`, as far as the number fits into 64 bits. Returns it
/// and the bytes after those digits.
///
/// The first loop uses 32 bits, which is faster on 32-bit targets.
#[inline]
pub(super) const fn digits<const IN_CONST: bool>(value: u64, text: &[u8]) -> (u64, &[u8]) {
    if IN_CONST || value > MAX_BEFORE_DIGIT as u64 {
        return more_digits(value, text);
    }
    if let (true, Some((word, after_word))) = (WORDS, text.split_first_chunk()) {
        let (digits, len) = leading_digits(u64::from_le_bytes(*word));
        let number = value * TEN_TO[len & 15] + digits;
        return match text.split_at_checked(len) {
            Some((_, rest)) if len < 8 => (number, rest),
            _ => more_digits(number, after_word),
        };
    }
    let (mut low, mut left) = (low_u32(value), text);
    while let [digit, rest @ ..] = left {
        let digit = (*digit as u32).wrapping_sub(b'0' as u32);
        if digit > 9 || low > MAX_BEFORE_DIGIT {
            break;
        }
        low = low * 10 + digit;
        left = rest;
    }
    if low > MAX_BEFORE_DIGIT { more_digits(low as u64, left) } else { (low as u64, left) }
}

/// Returns the number that the digits at the start of a word form, and how many digits there are. The first
/// digit is the lowest byte. Branchless, because processors mispredict where a number ends.
#[inline(always)]
const fn leading_digits(word: u64) -> (u64, usize) {
    const ONES: u64 = u64::MAX / 255;
    const EVERY_FOURTH: u64 = 0x0000_00FF_0000_00FF;
    let digits = word ^ (ONES * b'0' as u64);
    // The lowest bit is right: carries go upwards.
    let others = (digits.wrapping_add(ONES * 0x76) | digits) & (ONES * 0x80);
    let len = others.trailing_zeros() >> 3;
    // Without digits every bit is shifted out, and with eight of them none is.
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

/// The largest number that fits into 32 bits with one more digit.
const MAX_BEFORE_DIGIT: u32 = (u32::MAX - 9) / 10;

/// As [`digits`], with 64 bits. Compares before it multiplies: a checked 64-bit multiplication is a function
/// call on a 32-bit core.
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
