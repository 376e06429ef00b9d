//! Moves elements of any width within a buffer.

use crate::util::bytes::index_below;
use core::cell::Cell;

/// Moves `len` bits, which are whole elements of `bits` bits, towards the front.
#[inline]
pub(crate) fn shift(bytes: &[Cell<u8>], from: u64, to: u64, len: u64, bits: u8) {
    if from == to {
        return;
    }
    if (from | to | len) & 7 == 0 {
        return shift_bytes(bytes, from >> 3, to >> 3, len >> 3);
    }
    let mut done = 0;
    while done < len {
        put(bytes, to + done, take(bytes, from + done, bits), bits);
        done += u64::from(bits);
    }
}

fn shift_bytes(bytes: &[Cell<u8>], from: u64, to: u64, len: u64) {
    let from_byte = |at| index_below(at, usize::MAX).and_then(|at| bytes.get(at..)).unwrap_or(&[]);
    let len = index_below(len, usize::MAX).unwrap_or(0);
    let pairs = from_byte(to).iter().zip(from_byte(from));
    pairs.take(len).for_each(|(to, from)| to.set(from.get()));
}

/// Returns the byte that contains this bit, and the byte after it.
fn two(bytes: &[Cell<u8>], bit: u64) -> (Option<&Cell<u8>>, Option<&Cell<u8>>) {
    match index_below(bit >> 3, usize::MAX).and_then(|at| bytes.get(at..)) {
        Some([low, high, ..]) => (Some(low), Some(high)),
        Some([low]) => (Some(low), None),
        _ => (None, None),
    }
}

fn word(low: Option<&Cell<u8>>, high: Option<&Cell<u8>>) -> u16 {
    u16::from_le_bytes([low, high].map(|byte| byte.map_or(0, Cell::get)))
}

fn take(bytes: &[Cell<u8>], bit: u64, bits: u8) -> u16 {
    let (low, high) = two(bytes, bit);
    word(low, high) >> (bit & 7) & ((1 << bits) - 1)
}

fn put(bytes: &[Cell<u8>], bit: u64, element: u16, bits: u8) {
    let (low, high) = two(bytes, bit);
    let mask = ((1 << bits) - 1) << (bit & 7);
    let [new_low, new_high] = (word(low, high) & !mask | element << (bit & 7)).to_le_bytes();
    if let Some(low) = low {
        low.set(new_low);
    }
    if let Some(high) = high {
        high.set(new_high);
    }
}
