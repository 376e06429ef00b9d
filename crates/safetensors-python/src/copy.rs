//! New objects of Python with bytes, whose memory is written once.

use crate::pages;
use crate::parallel::{PIECE, in_parallel};
use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};
use std::convert::Infallible;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Memory from outside of Rust whose bytes are not initialised yet.
pub struct Uninit<'p> {
    bytes: &'p mut [MaybeUninit<u8>],
    /// The address after the block that they are a part of.
    end: usize,
}

impl<'p> Uninit<'p> {
    /// # Safety
    /// The memory has this length and comes from outside of Rust. Nothing else uses it.
    pub unsafe fn new(start: NonNull<u8>, len: usize) -> Self {
        // SAFETY: guaranteed by the caller.
        let bytes = unsafe { std::slice::from_raw_parts_mut(start.as_ptr().cast(), len) };
        Self { bytes, end: start.addr().get() + len }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Removes the first bytes and returns them.
    pub fn take(&mut self, len: usize) -> Self {
        let (bytes, rest) = std::mem::take(&mut self.bytes).split_at_mut(len);
        self.bytes = rest;
        Self { bytes, end: self.end }
    }

    /// Divides it among tasks.
    pub fn pieces(self) -> impl Iterator<Item = Self> {
        self.bytes.chunks_mut(PIECE).map(move |bytes| Self { bytes, end: self.end })
    }

    /// Requests large pages for bytes that are written next.
    pub fn prepare(&mut self) {
        pages::request(self.bytes, self.end);
    }

    /// Returns the same memory for a function that reads a file into it, and only writes to it.
    pub fn for_reading(self) -> &'p mut [u8] {
        // SAFETY: it is valid for this length. It comes from outside of Rust, so its bytes have values.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), self.bytes.len()) }
    }
}

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
    let start = NonNull::new(start).unwrap_or(NonNull::dangling());
    // SAFETY: guaranteed by the caller.
    unsafe { Uninit::new(start.cast(), len) }
}

/// Divides a copy among tasks. Both have the same length.
pub fn pieces<'f, 't>(from: &'f [u8], to: Uninit<'t>) -> impl Iterator<Item = (&'f [u8], Uninit<'t>)> {
    assert_eq!(from.len(), to.len());
    from.chunks(PIECE).zip(to.pieces())
}

/// Copies pieces, in several threads if they have many bytes.
pub fn copy_all(tasks: Vec<(&[u8], Uninit<'_>)>) {
    let len = tasks.iter().map(|(from, _)| from.len()).sum();
    let copied: Result<(), Infallible> = in_parallel(
        len,
        tasks,
        || Ok(()),
        |(from, mut to)| {
            to.prepare();
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
    unsafe { from.as_ptr().copy_to_nonoverlapping(to.bytes.as_mut_ptr().cast(), from.len()) };
}
