//! The command `safetensors`.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::{self, Write};

/// Runs the command with these words, of which the first is the name of the program. Returns the exit code.
#[pyfunction]
pub fn run_command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| {
        let code = safetensors_host::run(words);
        // The end of a Python process does not flush Rust's standard output.
        let _ = io::stdout().flush();
        code
    })
}
