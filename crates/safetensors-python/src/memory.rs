//! Memory that Python sees as a writable buffer.

use crate::copy::Uninit;
use memmap2::{MmapMut, MmapOptions};
use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::ptr::NonNull;

/// The alignment of allocated memory: that of a cache line, which JAX needs to share memory instead of
/// copying it.
const ALIGNMENT: usize = 64;

/// The bytes of tensors, for the buffer protocol. They live as long as an object that uses them.
#[pyclass(frozen, module = "embedded_safetensors._core")]
pub struct Memory {
    start: NonNull<u8>,
    len: usize,
    owner: Owner,
}

enum Owner {
    /// A block of Python's allocator.
    Heap(*mut c_void),
    /// Only kept: it is accessed through `start`.
    #[allow(dead_code)]
    Map(MmapMut),
}

// SAFETY: it owns the memory, and accesses it only before Python does and when it is dropped.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates memory with any bytes.
    ///
    /// # Errors
    /// `MemoryError`.
    pub fn new(_py: Python<'_>, len: u64) -> PyResult<Self> {
        let too_large = || PyMemoryError::new_err(format!("cannot allocate {len} bytes"));
        let len = usize::try_from(len).map_err(|_| too_large())?;
        let whole = len.checked_add(ALIGNMENT).ok_or_else(too_large)?;
        // SAFETY: the interpreter is attached.
        let block = NonNull::new(unsafe { ffi::PyMem_Malloc(whole) }).ok_or_else(too_large)?;
        // It is in the block, which has so many bytes more.
        let start = block.map_addr(|at| at.saturating_add(ALIGNMENT - at.get() % ALIGNMENT));
        Ok(Self { start: start.cast(), len, owner: Owner::Heap(block.as_ptr()) })
    }

    /// Maps a file of this length. Pages that are written to are copied first, so that the file is not
    /// changed.
    ///
    /// # Errors
    /// Those of the system.
    pub fn map(file: &File, len: usize) -> std::io::Result<Self> {
        // SAFETY: Rust never reads these bytes. If another program writes to the file or truncates it, arrays
        // of Python change or their process is killed, as the documentation of `backend` says.
        unsafe { MmapOptions::new().len(len).no_reserve_swap().map_copy(file) }.map(Self::of_map)
    }

    fn of_map(mut map: MmapMut) -> Self {
        let (start, len) = (NonNull::from(&mut *map).cast(), map.len());
        Self { start, len, owner: Owner::Map(map) }
    }

    /// Copies bytes of a map from this offset on.
    pub fn copy_to(&self, offset: u64, to: Uninit<'_>) {
        let from = usize::try_from(offset).ok().filter(|from| from.checked_add(to.len()) <= Some(self.len));
        let from = from.expect("the bytes of a tensor are in the map of its file");
        let to = to.for_reading();
        // SAFETY: both are valid for this length, and the map is not in `to`.
        unsafe { self.start.as_ptr().add(from).copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
    }

    /// Returns the memory, which nothing else uses yet.
    pub fn bytes_mut(&mut self) -> Uninit<'_> {
        // SAFETY: the memory has this length and comes from outside of Rust. `self` is borrowed mutably, so
        // that Python does not have it.
        unsafe { Uninit::new(self.start, self.len) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Owner::Heap(block) = self.owner {
            // SAFETY: it is a block of this allocator, and the interpreter is attached.
            Python::attach(|_| unsafe { ffi::PyMem_Free(block) });
        }
    }
}

#[pymethods]
impl Memory {
    /// # Safety
    /// Called by Python, with a valid view.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let (start, len) = (slf.get().start.as_ptr(), slf.get().len.cast_signed());
        // SAFETY: the view is Python's, and holds a reference to this object while the memory is used.
        match unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start.cast(), len, 0, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }

    fn __len__(&self) -> usize {
        self.len
    }
}
