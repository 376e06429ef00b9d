//! The bytes of Python's objects.

use crate::error::Failure;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;

/// A view of the contiguous bytes of an object, such as `bytes`, an array, or a map. The object cannot
/// release or resize them while the view exists. It asks for plain bytes, because the types of ml_dtypes
/// have no format that a buffer can state.
pub struct Buffer {
    // In a box, because an exporter may keep the address.
    view: Box<ffi::Py_buffer>,
}

// SAFETY: the view is only read, and released with the interpreter attached.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Returns a view of the object's bytes.
    ///
    /// # Errors
    /// `TypeError` when it has none; when they are not contiguous.
    pub fn of(object: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        let (py, mut view) = (object.py(), Box::new(ffi::Py_buffer::new()));
        // SAFETY: both pointers are valid, and the view is released in `drop` if this succeeds.
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &mut *view, ffi::PyBUF_SIMPLE) } == 0 {
            return Ok(Self { view });
        }
        match PyErr::fetch(py) {
            error if error.is_instance_of::<PyTypeError>(py) => Err(error.into()),
            error => Err(Failure::say(format_args!("the bytes cannot be read: {}", error.value(py)))),
        }
    }

    /// Returns the bytes. Another thread of Python may write to them meanwhile if they are those of an array;
    /// then what is read is any mixture.
    pub fn bytes(&self) -> &[u8] {
        match usize::try_from(self.view.len) {
            // SAFETY: the exporter guarantees that the bytes exist until the view is released.
            Ok(len @ 1..) => unsafe { std::slice::from_raw_parts(self.view.buf.cast(), len) },
            _ => &[],
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the view is valid, and the interpreter is attached.
        Python::attach(|_| unsafe { ffi::PyBuffer_Release(&mut *self.view) });
    }
}
