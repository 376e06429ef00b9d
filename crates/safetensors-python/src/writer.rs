//! Files whose tensors are written piece by piece.

use crate::buffer::Buffer;
use crate::dtype;
use crate::error::Failure;
use crate::save::file_spec;
use crate::spec::{Metadata, pairs};
use embedded_safetensors::Dtype;
use embedded_safetensors::write::TensorSpec;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use self_cell::self_cell;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file to be written.
struct Description {
    tensors: Vec<(String, Dtype, Vec<u64>)>,
    metadata: Metadata,
}

/// The same, as the writer takes it.
struct Parts<'a> {
    specs: Vec<TensorSpec<'a>>,
    pairs: Option<Vec<(&'a str, &'a str)>>,
}

/// `None` when it is finished.
type Writer<'a> = Option<safetensors_files::FileWriter<'a>>;

self_cell!(
    struct Described {
        owner: Description,
        #[covariant]
        dependent: Parts,
    }
);

self_cell!(
    struct Writing {
        owner: Described,
        #[not_covariant]
        dependent: Writer,
    }
);

/// Writes a file whose tensors arrive in pieces of any size, in any order. `finish`, or the end of a `with`
/// block, replaces an old file atomically; until then, and after an exception, the old file is unchanged.
///
/// filename: the path.
/// tensors: the dtype and the shape of each tensor by its name, as in `{"inputs": ("float32", [100, 2])}`.
/// metadata: texts by their keys.
/// sync: whether the file is on the disk when it is finished, so that a power cut leaves the old file or
///     the new one.
#[pyclass(frozen, module = "embedded_safetensors")]
pub struct FileWriter {
    writing: Mutex<Writing>,
    sync: bool,
}

#[pymethods]
impl FileWriter {
    #[new]
    #[pyo3(signature = (filename, tensors, metadata=None, *, sync=true))]
    fn new(
        filename: PathBuf,
        tensors: &Bound<'_, PyDict>,
        metadata: Metadata,
        sync: bool,
    ) -> Result<Self, Failure> {
        let tensor = |(name, form): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> Result<_, Failure> {
            let (dtype, dims): (String, Vec<u64>) = form.extract()?;
            Ok((name.extract()?, dtype::parse(&dtype)?, dims))
        };
        let description =
            Description { tensors: tensors.iter().map(tensor).collect::<Result<_, _>>()?, metadata };
        let described = Described::new(description, |description| Parts {
            specs: description
                .tensors
                .iter()
                .map(|(name, dtype, dims)| TensorSpec::new(name, *dtype, dims))
                .collect(),
            pairs: pairs(&description.metadata),
        });
        let writing = Writing::try_new(described, |described| {
            let parts = described.borrow_dependent();
            safetensors_files::FileWriter::create(filename, file_spec(&parts.specs, parts.pairs.as_deref()))
                .map(Some)
        })?;
        Ok(Self { writing: Mutex::new(writing), sync })
    }

    /// Writes the next bytes of a tensor: those of an object with contiguous, little-endian bytes, such as an
    /// array.
    fn write(&self, py: Python<'_>, name: &str, data: &Bound<'_, PyAny>) -> Result<(), Failure> {
        let data = Buffer::of(data)?;
        let bytes = data.bytes();
        py.detach(|| {
            self.lock().with_dependent_mut(|_, writer| {
                let writer = writer.as_mut().ok_or_else(finished)?;
                Ok(writer.tensor(name)?.write_bytes(bytes)?)
            })
        })
    }

    /// Returns how many bytes of a tensor are still to be written.
    fn remaining(&self, name: &str) -> Result<u64, Failure> {
        self.lock().with_dependent_mut(|_, writer| {
            let writer = writer.as_mut().ok_or_else(finished)?;
            Ok(writer.tensor(name)?.remaining())
        })
    }

    /// Replaces the old file. All tensors must be complete.
    fn finish(&self, py: Python<'_>) -> Result<(), Failure> {
        py.detach(|| {
            let sync = self.sync;
            self.lock().with_dependent_mut(|_, writer| {
                let writer = writer.take().ok_or_else(finished)?;
                Ok(if sync { writer.finish() } else { writer.finish_without_sync() }?)
            })
        })
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (kind, _value, _trace))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> Result<(), Failure> {
        if kind.is_none() {
            return self.finish(py);
        }
        // The hidden file is removed.
        self.lock().with_dependent_mut(|_, writer| drop(writer.take()));
        Ok(())
    }
}

impl FileWriter {
    fn lock(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn finished() -> Failure {
    Failure::say("the file is finished, or its block has ended with an exception")
}
