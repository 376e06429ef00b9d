//! Conversions that the standard library does not have in const.

use core::num::NonZero;
#[cfg(any(feature = "embedded-io-async", feature = "embedded-storage"))]
use core::{cell::Cell, cmp::Ordering};

/// Whether the target is faster with words of eight bytes. Elsewhere they take more instructions, and more
/// flash.
pub(crate) const WORDS: bool = cfg!(target_pointer_width = "64");

/// Returns the low half of a number whose high half is known to be zero.
#[allow(clippy::cast_possible_truncation)] // the purpose of this function
pub(crate) const fn low_u32(number: u64) -> u32 {
    number as u32
}

/// Returns the low byte of a number below 256.
#[allow(clippy::cast_possible_truncation)] // the purpose of this function
pub(crate) const fn low_u8(number: usize) -> u8 {
    number as u8
}

/// Returns as many of the low bits of a number as a `usize` has.
#[allow(clippy::cast_possible_truncation)] // the purpose of this function
pub(crate) const fn low_usize(number: u64) -> usize {
    number as usize
}

/// Returns the hexadecimal digit of a number below 16.
pub(crate) const fn hex_digit(number: u8) -> u8 {
    if number < 10 { b'0' + number } else { b'a' + number - 10 }
}

/// Copies as many elements as both slices have, and returns how many. `copy_from_slice` has a panic path
/// that is only removed where the compiler inlines it.
pub(crate) fn copy<T: Copy>(to: &mut [T], from: &[T]) -> usize {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    to.len().min(from.len())
}

/// Returns the element at `index`, for reading and writing; const, and without a panic path.
pub(crate) const fn get_mut<T>(slice: &mut [T], index: usize) -> Option<&mut T> {
    match slice.split_at_mut_checked(index) {
        Some((_, [element, ..])) => Some(element),
        _ => None,
    }
}

/// Returns the element at `index`; const, and without a panic path.
pub(crate) const fn get<T: Copy>(slice: &[T], index: usize) -> Option<T> {
    match slice.split_at_checked(index) {
        Some((_, [element, ..])) => Some(*element),
        _ => None,
    }
}

/// Returns `number` as an index, if it is below `bound`.
pub(crate) const fn index_below(number: u64, bound: usize) -> Option<usize> {
    if number >= bound as u64 {
        return None;
    }
    #[allow(clippy::cast_possible_truncation)] // below a usize
    Some(number as usize)
}

/// Returns the first `len` values, or all if there are fewer.
pub(crate) fn front<T>(values: &mut [T], len: u64) -> &mut [T] {
    let len = index_below(len, values.len()).unwrap_or(values.len());
    values.get_mut(..len).unwrap_or_default()
}

/// Returns how many bytes this many bits take. `div_ceil` has a panic path where the compiler optimises for
/// size alone.
pub(crate) const fn touched_bytes(bits: u64) -> u64 {
    (bits >> 3) + (bits & 7 != 0) as u64
}

/// Returns how many bytes of a buffer are before the first one that is aligned for a driver with this unit,
/// or to 16 bytes if it is larger. Drivers that use DMA or functions in ROM need that; esp-storage would copy
/// through 4 KiB of stack.
#[cfg(any(feature = "embedded-io-async", feature = "embedded-storage"))]
pub(crate) fn misaligned<T>(buffer: &[T], unit: usize) -> usize {
    let alignment = if unit.is_power_of_two() { unit.min(16) } else { 1 };
    buffer.as_ptr().addr().wrapping_neg() & (alignment - 1)
}

/// Moves bytes, unless they are in place. `copy_within` would link 1.6 KB of `memmove`.
#[cfg(any(feature = "embedded-io-async", feature = "embedded-storage"))]
pub(crate) fn move_within(memory: &mut [u8], from: usize, to: usize, len: usize) {
    let bytes = Cell::from_mut(memory).as_slice_of_cells();
    let part = |at: usize| bytes.get(at..at.saturating_add(len)).unwrap_or_default().iter();
    let pairs = part(from).zip(part(to));
    let copy = |(from, to): (&Cell<u8>, &Cell<u8>)| to.set(from.get());
    match from.cmp(&to) {
        Ordering::Less => pairs.rev().for_each(copy),
        Ordering::Equal => {}
        Ordering::Greater => pairs.for_each(copy),
    }
}

/// Returns the nearest `f32`; of two equally near ones, the even one.
pub(crate) const fn nearest_f32(number: f64) -> f32 {
    #[allow(clippy::cast_possible_truncation)] // rounds
    return number as f32;
}

/// Returns `number / divisor`, by long division in binary: targets that divide 64 bits in software would link
/// a library routine for it.
pub(crate) const fn quotient(number: u64, divisor: NonZero<u64>) -> u64 {
    let divisor = divisor.get();
    let (mut quotient, mut left) = (0, number);
    // The highest bit that the quotient can have. A divisor shifted this far loses no bit.
    let mut bit = 1u64 << divisor.leading_zeros().saturating_sub(number.leading_zeros());
    let mut multiple = divisor << bit.trailing_zeros();
    while bit > 0 {
        if left >= multiple {
            left -= multiple;
            quotient |= bit;
        }
        bit >>= 1;
        multiple >>= 1;
    }
    quotient
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotient_equals_division() {
        let near = |number: u64| [number.wrapping_sub(1), number, number.wrapping_add(1)];
        let powers = (0..64).flat_map(|bit| near(1 << bit)).chain(0..20);
        for number in powers.clone().chain([u64::MAX / 3, u64::MAX / 10, 123_456_789_012_345_678]) {
            for divisor in powers.clone().chain([u64::MAX / 3, u64::MAX]).filter_map(NonZero::new) {
                assert_eq!(quotient(number, divisor), number / divisor, "{number} / {divisor}");
            }
        }
    }
}
