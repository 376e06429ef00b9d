//! Files whose tensors are written piece by piece.

use crate::arguments::{Items, Metadata, Text, form, pairs};
use crate::buffer::Buffer;
use crate::dtype::check_elements;
use crate::error::Failure;
use crate::save::file_spec;
use embedded_safetensors::Dtype;
use embedded_safetensors::write::TensorSpec;
use pyo3::prelude::*;
use safetensors_files::EditError;
use self_cell::self_cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file to be written.
struct Description {
    tensors: Vec<(String, Dtype, Vec<u64>)>,
    metadata: Option<Metadata>,
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
/// tensors: the dtype and the shape of each tensor by its name, as in `{"inputs": ("float32", [100, 2])}`. A
///     dtype is a name, or that of a framework, such as `np.float32`.
/// metadata: texts by their keys.
/// sync: whether the file is on the disk when it is finished, so that a power cut leaves the old file or
///     the new one.
#[pyclass(frozen, module = "embedded_safetensors")]
pub struct FileWriter {
    writing: Mutex<Writing>,
    dtypes: HashMap<String, Dtype>,
    sync: bool,
}

#[pymethods]
impl FileWriter {
    #[new]
    #[pyo3(signature = (filename, tensors, metadata=None, *, sync=true))]
    fn new(
        py: Python<'_>,
        filename: PathBuf,
        tensors: Items<'_>,
        metadata: Option<Metadata>,
        sync: bool,
    ) -> Result<Self, Failure> {
        let tensors = tensors.0.iter().map(described).collect::<Result<_, _>>()?;
        let description = Description { tensors, metadata };
        let dtypes = description.tensors.iter().map(|(name, dtype, _)| (name.clone(), *dtype)).collect();
        let writing = py.detach(|| create(&filename, description))?;
        Ok(Self { writing: Mutex::new(writing), dtypes, sync })
    }

    /// Writes the next elements of a tensor: those of an object that has them contiguous and little-endian,
    /// such as an array of the tensor's dtype; or its next bytes.
    fn write(&self, py: Python<'_>, name: Text, data: &Bound<'_, PyAny>) -> Result<(), Failure> {
        let Text(name) = &name;
        // Another name is an error of the writer.
        let dtype = self.dtypes.get(name);
        dtype.map_or(Ok(()), |dtype| check_elements(data, *dtype)).map_err(|error| error.about(name))?;
        let data = Buffer::of(data).map_err(|error| error.about(name))?;
        let bytes = data.bytes();
        py.detach(|| {
            self.lock().with_dependent_mut(|_, writer| {
                let writer = writer.as_mut().ok_or_else(finished)?;
                Ok(writer.tensor(name)?.write_bytes(bytes)?)
            })
        })
    }

    /// Returns how many bytes of a tensor are still to be written.
    fn remaining(&self, py: Python<'_>, name: Text) -> Result<u64, Failure> {
        let Text(name) = &name;
        py.detach(|| {
            self.lock().with_dependent_mut(|_, writer| {
                let writer = writer.as_mut().ok_or_else(finished)?;
                Ok(writer.tensor(name)?.remaining())
            })
        })
    }

    /// Replaces the old file. If a tensor is not complete, that is an error, and the file can be continued.
    fn finish(&self, py: Python<'_>) -> Result<(), Failure> {
        py.detach(|| {
            let sync = self.sync;
            self.lock().with_dependent_mut(|_, writer| {
                writer.as_ref().ok_or_else(finished)?.check_complete()?;
                let writer = writer.take().ok_or_else(finished)?;
                Ok(if sync { writer.finish() } else { writer.finish_without_sync() }?)
            })
        })
    }

    fn __enter__(slf: Bound<'_, Self>) -> Result<Bound<'_, Self>, Failure> {
        if slf.get().is_finished(slf.py()) { Err(finished()) } else { Ok(slf) }
    }

    #[pyo3(signature = (kind, _value, _trace))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> Result<(), Failure> {
        // The block may have called `finish` itself.
        let is_due = kind.is_none() && !self.is_finished(py);
        let finished = if is_due { self.finish(py) } else { Ok(()) };
        // The hidden file of one that is not finished is removed.
        py.detach(|| self.lock().with_dependent_mut(|_, writer| drop(writer.take())));
        finished
    }
}

impl FileWriter {
    fn is_finished(&self, py: Python<'_>) -> bool {
        py.detach(|| self.lock().with_dependent_mut(|_, writer| writer.is_none()))
    }

    fn lock(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn create(filename: &Path, description: Description) -> Result<Writing, EditError> {
    let described = Described::new(description, |description| Parts {
        specs: description
            .tensors
            .iter()
            .map(|(name, dtype, dims)| TensorSpec::new(name, *dtype, dims))
            .collect(),
        pairs: pairs(&description.metadata),
    });
    Writing::try_new(described, |described| {
        let parts = described.borrow_dependent();
        let spec = file_spec(&parts.specs, parts.pairs.as_deref());
        safetensors_files::FileWriter::create(filename, spec).map(Some)
    })
}

/// Returns the name, the dtype and the shape of a tensor.
fn described(
    (name, parts): &(Bound<'_, PyAny>, Bound<'_, PyAny>),
) -> Result<(String, Dtype, Vec<u64>), Failure> {
    let Text(name) = name.extract()?;
    let described = || {
        let parts: Vec<Bound<'_, PyAny>> = parts.try_iter()?.collect::<PyResult<_>>()?;
        match parts.as_slice() {
            [dtype, dims] => form(dtype, dims),
            _ => Err(Failure::say(format_args!("a dtype and a shape needed, {} given", parts.len()))),
        }
    };
    let (dtype, dims) = described().map_err(|error| error.about(&name))?;
    Ok((name, dtype, dims))
}

fn finished() -> Failure {
    Failure::say("the file is finished, or its block has ended with an exception")
}
