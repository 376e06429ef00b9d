//! The extension module of the Python package `embedded-safetensors`. It reads, slices and writes bytes with
//! the libraries of this repository; the modules of the frameworks, in Python, turn bytes into tensors.
//!
//! | file | what it has |
//! |---|---|
//! | `memory` | memory that Python sees as a buffer: allocated, or mapped from a file |
//! | `pages` | requests for large pages of memory |
//! | `arguments` `buffer` | what functions are called with, and the bytes of Python's objects |
//! | `copy` | new objects of Python with bytes |
//! | `parallel` | work that several threads share |
//! | `model` `index` `remote` | files that are read, what Python's `[…]` selects, and models on servers |
//! | `spec` `save` `set` `writer` | files that are written |
//! | `checkpoint` `command` `dtype` `error` | what their names say |

mod arguments;
mod buffer;
mod checkpoint;
mod command;
mod copy;
mod dtype;
mod error;
mod index;
mod memory;
mod model;
mod pages;
mod parallel;
mod remote;
mod save;
mod set;
mod spec;
mod writer;

use pyo3::prelude::*;

/// Reads and writes safetensors files.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::checkpoint::{recover_checkpoint, verify_checkpoint, write_checkpoint};
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::memory::Memory;
    #[pymodule_export]
    use crate::model::{Model, check, deserialize, read_bytes};
    #[pymodule_export]
    use crate::remote::open_model;
    #[pymodule_export]
    use crate::save::{save_sharded, serialize, serialize_file};
    #[pymodule_export]
    use crate::set::set_tensor;
    #[pymodule_export]
    use crate::spec::TensorSpec;
    #[pymodule_export]
    use crate::writer::FileWriter;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("SafetensorError", crate::error::class(module.py())?)
    }
}
