//! Pointers of a C caller, checked as far as that is possible.

use crate::error::Misuse;
use core::ffi::{CStr, c_char};
use core::slice;

/// Memory that a call passes: an array, or an object as an array of one.
#[derive(Clone, Copy)]
pub struct Memory {
    address: usize,
    bytes: usize,
    align: usize,
}

/// Returns the memory of an array; that of a pointer to `void` has `count` bytes.
pub fn memory<T>(pointer: *const T, count: usize) -> Memory {
    Memory { address: pointer.addr(), bytes: count.saturating_mul(size_of::<T>()), align: align_of::<T>() }
}

impl Memory {
    /// # Errors
    /// It is null or misaligned, or longer than memory can be. Without values, any pointer will do.
    #[inline(never)] // every function calls it, with several pointers
    pub fn check(self) -> Result<(), Misuse> {
        match self {
            Self { bytes: 0, .. } => Ok(()),
            Self { address: 0, .. } => Err(Misuse::Null),
            Self { address, align, .. } if address & (align - 1) != 0 => Err(Misuse::Misaligned),
            Self { bytes, .. } if bytes > isize::MAX as usize => Err(Misuse::TooLong),
            _ => Ok(()),
        }
    }

    fn overlaps(self, other: Self) -> bool {
        let begins_in = |one: Self, other: Self| one.address.wrapping_sub(other.address) < other.bytes;
        self.bytes > 0 && other.bytes > 0 && (begins_in(self, other) || begins_in(other, self))
    }
}

/// # Errors
/// As [`Memory::check`]; two of these overlap.
pub fn check_all(memory: &[Memory]) -> Result<(), Misuse> {
    memory.iter().try_for_each(|one| one.check())?;
    let mut others = memory.iter();
    while let Some(one) = others.next() {
        if others.as_slice().iter().any(|other| other.overlaps(*one)) {
            return Err(Misuse::Overlap);
        }
    }
    Ok(())
}

/// Returns memory as a slice.
///
/// # Safety
/// It was [checked](Memory::check): it points to `len` values that nothing changes while the slice is in use.
pub unsafe fn array<'a, T>(pointer: *const T, len: usize) -> &'a [T] {
    // SAFETY: the caller's promise. Without values, the pointer may be null.
    if len == 0 { &[] } else { unsafe { slice::from_raw_parts(pointer, len) } }
}

/// As [`array`], for memory that is written.
///
/// # Safety
/// As [`array`], and nothing else reads it. Every value of `T` is valid: `T` is a number. Memory that is not
/// initialised has some value, because it comes from C.
pub unsafe fn array_mut<'a, T: Number>(pointer: *mut T, len: usize) -> &'a mut [T] {
    // SAFETY: as in `array`.
    if len == 0 { &mut [] } else { unsafe { slice::from_raw_parts_mut(pointer, len) } }
}

/// Returns a string.
///
/// # Errors
/// It is null or not UTF-8.
///
/// # Safety
/// Otherwise it ends with a 0, and nothing changes it while the text is in use.
pub unsafe fn text<'a>(pointer: *const c_char) -> Result<&'a str, Misuse> {
    if pointer.is_null() {
        return Err(Misuse::Null);
    }
    // SAFETY: not null; the rest is the caller's promise.
    let bytes = unsafe { CStr::from_ptr(pointer) }.to_bytes();
    // SAFETY: checked.
    if is_utf8(bytes) { Ok(unsafe { core::str::from_utf8_unchecked(bytes) }) } else { Err(Misuse::NotUtf8) }
}

/// Whether bytes are UTF-8. `core::str::from_utf8` takes 500 bytes more flash, to be fast.
fn is_utf8(text: &[u8]) -> bool {
    let mut bytes = text.iter();
    while let Some(&first) = bytes.next() {
        let more = match first {
            0..=0x7F => continue,
            0xC2..=0xDF => 1,
            0xE0..=0xEF => 2,
            0xF0..=0xF4 => 3,
            _ => return false,
        };
        let mut character = u32::from(first) & (0x3F >> more);
        for _ in 0..more {
            let Some(&next @ 0x80..=0xBF) = bytes.next() else { return false };
            character = character << 6 | u32::from(next & 0x3F);
        }
        // Neither one that fits into fewer bytes, nor a surrogate.
        if character >> (5 * more + 1) == 0 || char::from_u32(character).is_none() {
            return false;
        }
    }
    true
}

/// A type of which every bit pattern is a value.
///
/// # Safety
/// It has no padding, and no invalid value.
pub unsafe trait Number: Copy {}

macro_rules! numbers {
    ($($type:ty),+) => { $(
        // SAFETY: a number of the language.
        unsafe impl Number for $type {}
    )+ };
}

numbers!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);
