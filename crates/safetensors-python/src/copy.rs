//! New objects of Python with bytes, whose memory is written once.

use crate::memory::ask_for_large_pages;
use crate::parallel::{PIECE, in_parallel};
use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};
use std::convert::Infallible;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Memory that is not initialised yet.
pub type Uninit<'p> = &'p mut [MaybeUninit<u8>];

/// Creates an object, and returns its memory, which nothing else uses until it is given to Python.
#[allow(clippy::mut_from_ref)]
pub fn uninit_bytes(py: Python<'_>, len: u64) -> PyResult<(Bound<'_, PyBytes>, Uninit<'_>)> {
    let len =
        isize::try_from(len).map_err(|_| PyMemoryError::new_err(format!("cannot allocate {len} bytes")))?;
    // SAFETY: without a source, the new object has this many bytes, which are not initialised, and stays
    // where it is.
    unsafe {
        let object = ffi::PyBytes_FromStringAndSize(std::ptr::null(), len);
        let object = Bound::from_owned_ptr_or_err(py, object)?.cast_into::<PyBytes>()?;
        let memory = memory(ffi::PyBytes_AsString(object.as_ptr()), len.unsigned_abs());
        Ok((object, memory))
    }
}

/// Creates an object as [`uninit_bytes`] does.
#[allow(clippy::mut_from_ref)]
pub fn uninit_bytearray(py: Python<'_>, len: usize) -> PyResult<(Bound<'_, PyByteArray>, Uninit<'_>)> {
    // SAFETY: as above. No slice is longer than an `isize`.
    unsafe {
        let object = ffi::PyByteArray_FromStringAndSize(std::ptr::null(), len.cast_signed());
        let object = Bound::from_owned_ptr_or_err(py, object)?.cast_into::<PyByteArray>()?;
        let memory = memory(ffi::PyByteArray_AsString(object.as_ptr()), len);
        Ok((object, memory))
    }
}

/// # Safety
/// The memory has this length, and nothing else uses it.
unsafe fn memory<'p>(start: *mut c_char, len: usize) -> Uninit<'p> {
    if let Some(start) = NonNull::new(start.cast()) {
        ask_for_large_pages(start, len);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts_mut(start.cast(), len) }
}

/// Returns the same memory for functions that read a file into it.
///
/// # Safety
/// The memory comes from outside of Rust, so its bytes have values, and it is only written to.
pub unsafe fn for_reading(memory: Uninit<'_>) -> &mut [u8] {
    // SAFETY: it is valid for this length, and borrowed mutably. The rest is guaranteed by the caller.
    unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), memory.len()) }
}

/// Divides a copy among tasks. Both have the same length.
pub fn pieces<'f, 't>(from: &'f [u8], to: Uninit<'t>) -> impl Iterator<Item = (&'f [u8], Uninit<'t>)> {
    assert_eq!(from.len(), to.len());
    from.chunks(PIECE).zip(to.chunks_mut(PIECE))
}

/// Copies pieces, in several threads if they have many bytes.
pub fn copy_all(tasks: Vec<(&[u8], Uninit<'_>)>) {
    let len = tasks.iter().map(|(from, _)| from.len()).sum();
    let copied: Result<(), Infallible> = in_parallel(
        len,
        tasks,
        || Ok(()),
        |(from, to)| {
            copy(from, to);
            Ok(())
        },
    );
    copied.unwrap_or_else(|never| match never {});
}

/// Copies bytes. Both have the same length.
pub fn copy(from: &[u8], to: Uninit<'_>) {
    assert_eq!(from.len(), to.len());
    // SAFETY: both are valid for this length, and one of them is borrowed mutably.
    unsafe { from.as_ptr().copy_to_nonoverlapping(to.as_mut_ptr().cast(), from.len()) };
}
