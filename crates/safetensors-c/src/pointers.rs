//! Pointers of a C caller, checked as far as that is possible.

use crate::error::Misuse;
use core::ffi::{CStr, c_char};
use core::slice;

/// Returns what a pointer points to.
///
/// # Errors
/// It is null or misaligned.
///
/// # Safety
/// Otherwise it points to a `T` that nothing else changes while the reference is in use.
pub unsafe fn reference<'a, T>(pointer: *const T) -> Result<&'a T, Misuse> {
    check(pointer)?;
    // SAFETY: not null, aligned; the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// Returns memory as a slice; an empty one if `len` is 0, whatever the pointer.
///
/// # Errors
/// The pointer is null or misaligned, or the length is impossible.
///
/// # Safety
/// Otherwise it points to `len` values that nothing changes while the slice is in use.
pub unsafe fn array<'a, T>(pointer: *const T, len: usize) -> Result<&'a [T], Misuse> {
    if len == 0 {
        return Ok(&[]);
    }
    check_array(pointer, len)?;
    // SAFETY: not null, aligned, not longer than any allocation; the rest is the caller's promise.
    Ok(unsafe { slice::from_raw_parts(pointer, len) })
}

/// As [`array`], for memory that is written.
///
/// # Errors
/// Those of [`array`].
///
/// # Safety
/// As [`array`], and nothing else reads it. Every value of `T` is valid: `T` is a number.
pub unsafe fn array_mut<'a, T: Number>(pointer: *mut T, len: usize) -> Result<&'a mut [T], Misuse> {
    if len == 0 {
        return Ok(&mut []);
    }
    check_array(pointer, len)?;
    // SAFETY: as in `array`. Memory that is not initialised has some value, because it comes from C.
    Ok(unsafe { slice::from_raw_parts_mut(pointer, len) })
}

/// Returns a string.
///
/// # Errors
/// It is null or not UTF-8.
///
/// # Safety
/// Otherwise it ends with a 0, and nothing changes it while the text is in use.
pub unsafe fn text<'a>(pointer: *const c_char) -> Result<&'a str, Misuse> {
    check(pointer)?;
    // SAFETY: not null; the rest is the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    core::str::from_utf8(text.to_bytes()).map_err(|_| Misuse::NotUtf8)
}

/// # Errors
/// The pointer is null or misaligned.
pub fn check<T>(pointer: *const T) -> Result<(), Misuse> {
    match () {
        () if pointer.is_null() => Err(Misuse::Null),
        () if !pointer.is_aligned() => Err(Misuse::Misaligned),
        () => Ok(()),
    }
}

/// # Errors
/// The pointer is null or misaligned, or no memory can have that many values. Without values, any will do.
pub fn check_array<T>(pointer: *const T, len: usize) -> Result<(), Misuse> {
    if len == 0 {
        return Ok(());
    }
    check(pointer)?;
    match len.checked_mul(size_of::<T>()) {
        Some(bytes) if bytes <= isize::MAX as usize => Ok(()),
        _ => Err(Misuse::TooLong),
    }
}

/// A range of memory: its address and its length in bytes.
pub type Range = (usize, usize);

/// # Errors
/// Two of these ranges overlap, or one is longer than memory can be.
pub fn check_disjoint(ranges: &[Range]) -> Result<(), Misuse> {
    if ranges.iter().any(|(_, len)| *len > isize::MAX as usize) {
        return Err(Misuse::TooLong);
    }
    for (index, (first, len)) in ranges.iter().enumerate() {
        for (second, second_len) in ranges.iter().skip(index + 1) {
            let (end, second_end) = (first.saturating_add(*len), second.saturating_add(*second_len));
            if *len > 0 && *second_len > 0 && *first < second_end && *second < end {
                return Err(Misuse::Overlap);
            }
        }
    }
    Ok(())
}

/// Returns the range of an array; that of a pointer to `void` has `len` bytes.
pub fn range<T>(pointer: *const T, len: usize) -> Range {
    (pointer.addr(), len.saturating_mul(size_of::<T>()))
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
