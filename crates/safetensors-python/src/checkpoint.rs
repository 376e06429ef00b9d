//! Checkpoints: directories that are replaced atomically.

use crate::error::Failure;
use pyo3::prelude::*;
use safetensors_files::EditError;
use safetensors_files::checkpoint;
use std::io;
use std::path::PathBuf;

/// Writes a directory: `fill` is called with the path of a new directory, and creates files in it. Then the
/// new one replaces the old one atomically, with the SHA-256 of each file in `SHA256SUMS`. The old one, which
/// must have that file or be empty, is deleted with all that it contains.
#[pyfunction]
pub fn write_checkpoint(py: Python<'_>, directory: PathBuf, fill: Py<PyAny>) -> Result<(), Failure> {
    let mut raised = None;
    let outcome = py.detach(|| {
        checkpoint::write_checkpoint(directory, |checkpoint| {
            let called = Python::attach(|py| fill.call1(py, (checkpoint.path(),)).map(drop));
            called.map_err(|error| {
                raised = Some(error);
                EditError::from(io::Error::other("the function raised an exception"))
            })
        })
    });
    match (raised, outcome) {
        (Some(error), _) => Err(error.into()),
        (None, outcome) => Ok(outcome?),
    }
}

/// Compares a checkpoint with its `SHA256SUMS`. Returns how many files it has.
#[pyfunction]
pub fn verify_checkpoint(py: Python<'_>, directory: PathBuf) -> Result<u64, Failure> {
    Ok(py.detach(|| checkpoint::verify_checkpoint(directory))?.files)
}

/// Restores an old checkpoint that a power cut has left without its name. Returns whether there was one.
#[pyfunction]
pub fn recover_checkpoint(py: Python<'_>, directory: PathBuf) -> Result<bool, Failure> {
    Ok(py.detach(|| checkpoint::recover_checkpoint(directory))?)
}
