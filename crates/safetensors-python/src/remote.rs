//! Models on servers and on the Hub of Hugging Face.

use crate::arguments::Text;
use crate::error::Failure;
use crate::index::Selection;
use crate::memory::Memory;
use crate::model::{Info, Model, Part, Tensor, dtype_name, info, planned};
use crate::parallel::stoppable;
use embedded_safetensors::file::FileErrorKind;
use embedded_safetensors::index::IndexedTensor;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use safetensors_remote::{Client, Location, ModelFile, Options, RemoteModel};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A model on a server, with the methods of [`Model`].
#[pyclass(frozen, module = "embedded_safetensors._core")]
struct Remote(Client, Vec<ModelFile>);

/// Opens what `Model` opens, or a model at a URL or on the Hub, which may be in the local cache.
#[pyfunction]
pub fn open_model(
    py: Python<'_>,
    path: PathBuf,
    is_mapped: bool,
    maps_parts: bool,
) -> Result<Py<PyAny>, Failure> {
    let on_disk = |path| Ok(Py::new(py, Model::new(py, path, is_mapped, maps_parts)?)?.into_any());
    let Some(text) = path.to_str().filter(|text| Location::is_remote(text)) else { return on_disk(path) };
    let (location, options) = (Location::parse(text)?, Options::from_env());
    if let Location::Hub(model) = &location
        && let Some(path) = options.hub.cached(model)
    {
        return on_disk(path);
    }
    if is_mapped && !maps_parts {
        return Err(Failure::say(format_args!("{location}: a model on a server cannot be mapped")));
    }
    let client = Client::new(options)?;
    let files = stoppable(py, || client.stop(), || Ok(RemoteModel::open(&client, &location)?.into_files()))?;
    Ok(Py::new(py, Remote(client, files))?.into_any())
}

#[pymethods]
impl Remote {
    fn offset_names(&self) -> Vec<&str> {
        self.1.iter().flat_map(|file| file.index().tensors().map(|tensor| tensor.name())).collect()
    }

    fn metadata(&self) -> Option<BTreeMap<&String, &String>> {
        // Of several files, the first value of a key counts.
        let all: Vec<_> = self.1.iter().rev().filter_map(|file| file.index().metadata()).collect();
        (!all.is_empty()).then(|| all.into_iter().flatten().collect())
    }

    fn info<'py>(&self, py: Python<'py>, name: Text) -> Result<Info<'py>, Failure> {
        Ok(info(py, &self.find(&name.0)?.1))
    }

    fn tensor<'py>(&self, py: Python<'py>, name: Text) -> Result<Tensor<'py>, Failure> {
        let (file, tensor) = self.find(&name.0)?;
        let memory =
            self.read(py, (file, &tensor), tensor.byte_len(), std::iter::once(0..tensor.byte_len()))?;
        Ok((memory, 0, dtype_name(py, tensor.dtype()), PyTuple::new(py, tensor.dims())?))
    }

    fn tensors<'py>(&self, py: Python<'py>) -> Result<Vec<(Bound<'py, PyString>, Tensor<'py>)>, Failure> {
        // Small ones that follow each other come from one reply.
        self.1.iter().for_each(ModelFile::expect_all);
        let tensor = |name| Ok((PyString::new(py, name), self.tensor(py, Text(name.to_owned()))?));
        self.offset_names().into_iter().map(tensor).collect()
    }

    fn part<'py>(
        &self,
        py: Python<'py>,
        name: Text,
        index: &Bound<'py, PyAny>,
    ) -> Result<Part<'py>, Failure> {
        let (file, tensor) = self.find(&name.0)?;
        let selection = Selection::parse(index, tensor.dims()).map_err(|error| error.about(&name.0))?;
        let (_, runs, len) = planned(&tensor, &selection)?;
        // Runs that are near to each other come from one reply.
        let start = file.index().summary().data_start + tensor.begin();
        file.file().expect(runs.clone().map(|run| start + run.start..start + run.end));
        let memory = self.read(py, (file, &tensor), len, runs)?;
        let (dtype, flips) = (dtype_name(py, tensor.dtype()), PyTuple::new(py, &selection.flips)?);
        Ok((memory, 0, dtype, PyTuple::new(py, selection.shape())?, selection.rest(py)?, flips))
    }
}

impl Remote {
    fn find(&self, name: &str) -> Result<(&ModelFile, IndexedTensor<'_>), Failure> {
        let find = |file| Some((file, ModelFile::index(file).find(name).ok()??));
        self.1.iter().find_map(find).ok_or_else(|| Failure::missing(name))
    }

    /// Reads runs of a tensor, which have `len` bytes.
    fn read<'py>(
        &self,
        py: Python<'py>,
        (file, tensor): (&ModelFile, &IndexedTensor<'_>),
        len: u64,
        runs: impl Iterator<Item = Range<u64>> + Send,
    ) -> Result<Bound<'py, Memory>, Failure> {
        let (mut memory, data) = (Memory::new(py, len)?, file.index().summary().data_start + tensor.begin());
        let (mut to, file) = (memory.bytes_mut().for_reading(), file.file());
        stoppable(
            py,
            || self.0.stop(),
            || {
                for Range { mut start, end } in runs {
                    while start < end {
                        let most = to.len().min(usize::try_from(end - start).unwrap_or(usize::MAX));
                        let read = file.read(data + start, &mut to[..most], Some(data + end))?;
                        if read == 0 {
                            let url = file.opened().url().to_string();
                            return Err(FileErrorKind::Changed.of(Path::new(&url)).into());
                        }
                        (start, to) = (start + read as u64, &mut to[read..]);
                    }
                }
                Ok(())
            },
        )?;
        Ok(Bound::new(py, memory)?)
    }
}
