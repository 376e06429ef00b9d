//! Files that are read.

use crate::arguments::Text;
use crate::buffer::Buffer;
use crate::copy::{Uninit, copy, copy_all, pieces, uninit_bytearray};
use crate::error::Failure;
use crate::index::Selection;
use crate::memory::Memory;
use crate::parallel::{PIECE, in_parallel, signals};
use embedded_safetensors::file::shared::read_up_to;
use embedded_safetensors::file::{FileError, FileErrorKind, FileTensor};
use embedded_safetensors::index::{IndexedTensor, OwnedIndex};
use embedded_safetensors::slice::{AxisRange, ByteRuns, SlicePlan};
use embedded_safetensors::{Dtype, Error, ErrorKind, FileModel, ReadError, Shape};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use safetensors_files::shards::{ShardErrorKind::NoIndex, ShardedModel};
use safetensors_files::{EditError, EditErrorKind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A model in a file, or in several with an index. Threads may share it.
#[pyclass(frozen, module = "embedded_safetensors._core")]
pub struct Model {
    source: Source,
    /// The maps of the files, if they are mapped, in the order of the files.
    maps: Option<Vec<Py<Memory>>>,
    /// Whether parts of tensors may be copied from maps.
    maps_parts: bool,
    /// These maps.
    maps_of_parts: OnceLock<Vec<Memory>>,
}

enum Source {
    File(FileModel),
    Shards(ShardedModel),
}

/// The dtype of a tensor, its shape, and the offsets of its bytes in the data of its file.
pub type Info<'py> = (Bound<'py, PyString>, Vec<u64>, (u64, u64));

/// The bytes of a tensor: memory, and where in it they begin; its dtype and its shape.
pub type Tensor<'py> = (Bound<'py, Memory>, u64, Bound<'py, PyString>, Bound<'py, PyTuple>);

/// The same of a part of a tensor, and what remains to be done: an index to be applied, and axes to be
/// reversed.
pub type Part<'py> = (
    Bound<'py, Memory>,
    u64,
    Bound<'py, PyString>,
    Bound<'py, PyTuple>,
    Bound<'py, PyTuple>,
    Bound<'py, PyTuple>,
);

#[pymethods]
impl Model {
    /// Opens a file, or by its index a model in several; or the one of these in a directory. Tensors are
    /// mapped or read; parts of those that are read may be copied from maps.
    #[new]
    pub fn new(py: Python<'_>, path: PathBuf, is_mapped: bool, maps_parts: bool) -> Result<Self, Failure> {
        let source = py.detach(|| Source::open(&path))?;
        let new_map = |file| -> Result<_, Failure> { Ok(Py::new(py, map(file)?)?) };
        let maps: Option<Result<_, Failure>> = is_mapped.then(|| source.files().map(new_map).collect());
        Ok(Self { source, maps: maps.transpose()?, maps_parts, maps_of_parts: OnceLock::new() })
    }

    /// Returns the names of all tensors, in the order of their bytes.
    fn offset_names(&self) -> Vec<&str> {
        self.source.files().flat_map(|file| file.index().tensors().map(|tensor| tensor.name())).collect()
    }

    /// Returns `__metadata__`, or None.
    fn metadata(&self) -> Option<&BTreeMap<String, String>> {
        match &self.source {
            Source::File(file) => file.metadata(),
            Source::Shards(shards) => shards.metadata(),
        }
    }

    /// Returns what the header says about a tensor.
    fn info<'py>(&self, py: Python<'py>, name: Text) -> Result<Info<'py>, Failure> {
        let tensor = self.find(&name.0)?;
        Ok(info(py, &tensor))
    }

    /// Reads or maps a tensor.
    fn tensor<'py>(&self, py: Python<'py>, name: Text) -> Result<Tensor<'py>, Failure> {
        let tensor = self.find(&name.0)?;
        let (memory, offset) = match self.map_of(py, &tensor) {
            Some(mapped) => mapped,
            None => (read_alone(py, &tensor)?, 0),
        };
        Ok((memory, offset, dtype_name(py, tensor.dtype()), PyTuple::new(py, tensor.dims())?))
    }

    /// Reads or maps all tensors, in the order of their bytes.
    fn tensors<'py>(&self, py: Python<'py>) -> Result<Vec<(Bound<'py, PyString>, Tensor<'py>)>, Failure> {
        let all: Vec<FileTensor<'_>> = self.source.files().flat_map(FileModel::tensors).collect();
        let memories = match self.maps {
            Some(_) => all.iter().filter_map(|tensor| self.map_of(py, tensor)).collect(),
            None => read_all(py, all.iter().map(|tensor| Origin::File(*tensor)).collect())?,
        };
        let tensor = |(tensor, (memory, offset)): (&FileTensor<'_>, (Bound<'py, Memory>, u64))| {
            let dims = PyTuple::new(py, tensor.dims())?;
            let name = PyString::new(py, tensor.name());
            Ok((name, (memory, offset, dtype_name(py, tensor.dtype()), dims)))
        };
        Ok(all.iter().zip(memories).map(tensor).collect::<PyResult<_>>()?)
    }

    /// Reads or maps a part of a tensor.
    fn part<'py>(
        &self,
        py: Python<'py>,
        name: Text,
        index: &Bound<'py, PyAny>,
    ) -> Result<Part<'py>, Failure> {
        let tensor = self.find(&name.0)?;
        let selection = Selection::parse(index, tensor.dims()).map_err(|error| error.about(&name.0))?;
        let (dtype, flips) = (dtype_name(py, tensor.dtype()), PyTuple::new(py, &selection.flips)?);
        // In a map, an index would count bytes instead of elements that are narrower.
        let is_packed = tensor.dtype().bits() < 8;
        // The plan of a slice has fewer axes than numpy can have.
        let whole = match self.map_of(py, &tensor).filter(|_| !is_packed) {
            None if !is_packed && Shape::new(tensor.dims()).is_err() => Some((read_alone(py, &tensor)?, 0)),
            mapped => mapped,
        };
        if let Some((memory, offset)) = whole {
            let (dims, index) = (PyTuple::new(py, tensor.dims())?, selection.to_python(py)?);
            return Ok((memory, offset, dtype, dims, index, flips));
        }
        let memory = Bound::new(py, self.read_part(py, &tensor, &selection)?)?;
        Ok((memory, 0, dtype, PyTuple::new(py, selection.shape())?, selection.rest(py)?, flips))
    }
}

impl Source {
    fn open(path: &Path) -> Result<Self, Failure> {
        if !path.is_dir() && path.extension().is_none_or(|extension| extension != "json") {
            return Ok(Self::File(FileModel::open(path)?));
        }
        match ShardedModel::open(path) {
            Ok(shards) => Ok(Self::Shards(shards)),
            Err(error) => match error.kind() {
                EditErrorKind::Shards(NoIndex) => {
                    Ok(Self::File(FileModel::open(only_file_in(path, error)?)?))
                }
                _ => Err(error.into()),
            },
        }
    }

    fn files(&self) -> impl Iterator<Item = &FileModel> {
        match self {
            Self::File(file) => std::slice::from_ref(file),
            Self::Shards(shards) => shards.shards(),
        }
        .iter()
    }
}

/// Returns the path of the model in a directory without an index: `model.safetensors`, or else the only one.
fn only_file_in(directory: &Path, no_index: EditError) -> Result<PathBuf, Failure> {
    const NAMED: usize = 8;
    let usual = directory.join("model.safetensors");
    if usual.is_file() {
        return Ok(usual);
    }
    let paths = directory.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let is_model = |path: &PathBuf| path.extension().is_some_and(|end| end == "safetensors");
    let mut models: Vec<PathBuf> = paths.filter(is_model).collect();
    if models.len() < 2 {
        return models.pop().ok_or_else(|| no_index.into());
    }
    models.sort();
    let name = |path: &PathBuf| format!("{:?}", path.file_name().unwrap_or_default());
    let names: Vec<String> = models.iter().take(NAMED).map(name).collect();
    let (directory, all, names) = (directory.display(), models.len(), names.join(", "));
    let more = if all > NAMED { ", …" } else { "" };
    Err(Failure::say(format_args!("{directory}: contains {all} models: {names}{more}; give the path of one")))
}

impl Model {
    fn find(&self, name: &str) -> Result<FileTensor<'_>, Failure> {
        let found = match &self.source {
            Source::File(file) => file.find(name),
            Source::Shards(shards) => shards.find(name),
        };
        found.ok().flatten().ok_or_else(|| Failure::missing(name))
    }

    /// Returns the map of the tensor's file, and where in it the tensor begins.
    fn map_of<'py>(&self, py: Python<'py>, tensor: &FileTensor<'_>) -> Option<(Bound<'py, Memory>, u64)> {
        let map = self.maps.as_ref()?.get(self.number_of(tensor)?)?;
        Some((map.bind(py).clone(), begin(tensor)))
    }

    /// Returns the number of the tensor's file.
    fn number_of(&self, tensor: &FileTensor<'_>) -> Option<usize> {
        self.source.files().position(|file| std::ptr::eq(file, tensor.model()))
    }
}

/// Returns the offset of the tensor in its file.
fn begin(tensor: &FileTensor<'_>) -> u64 {
    tensor.model().index().summary().data_start + tensor.begin()
}

fn map(model: &FileModel) -> Result<Memory, FileError> {
    let len = model.index().summary().file_len();
    let mapped = match usize::try_from(len) {
        Ok(addressed) => {
            Memory::map(model.file(), addressed).map_err(|error| FileErrorKind::system("map", error))
        }
        Err(_) => Err(FileErrorKind::TooLong { len }),
    };
    let mapped = mapped.map_err(|kind| kind.of(model.path()))?;
    // The map is that of the validated file.
    model.check_unchanged().map(|()| mapped)
}

/// Where the bytes of a tensor are.
enum Origin<'a> {
    File(FileTensor<'a>),
    Bytes(&'a [u8]),
}

impl Origin<'_> {
    fn len(&self) -> u64 {
        match self {
            Self::File(tensor) => tensor.byte_len(),
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Copies bytes from the offset on.
    fn read(&self, offset: usize, to: Uninit<'_>) -> Result<(), Failure> {
        match self {
            Self::File(tensor) => read_at(tensor.model(), begin(tensor) + offset as u64, to),
            Self::Bytes(bytes) => {
                copy(&bytes[offset..offset + to.len()], to);
                Ok(())
            }
        }
    }
}

fn read_at(mut model: &FileModel, offset: u64, to: Uninit<'_>) -> Result<(), Failure> {
    let to = to.for_reading();
    let read = read_up_to(&mut model, offset, to).map_err(|error| FileErrorKind::system("read", error));
    match read {
        Ok(len) if len == to.len() => Ok(()),
        Ok(_) => Err(FileErrorKind::Changed.of(model.path()).into()),
        Err(kind) => Err(kind.of(model.path()).into()),
    }
}

fn read_alone<'py>(py: Python<'py>, tensor: &FileTensor<'_>) -> Result<Bound<'py, Memory>, Failure> {
    let mut memory = Memory::new(py, tensor.byte_len())?;
    py.detach(|| fill(&mut [(Origin::File(*tensor), &mut memory)]))?;
    Ok(Bound::new(py, memory)?)
}

/// Reads tensors, each into its own memory.
fn read_all<'py>(
    py: Python<'py>,
    tensors: Vec<Origin<'_>>,
) -> Result<Vec<(Bound<'py, Memory>, u64)>, Failure> {
    let mut memories =
        tensors.iter().map(|from| Memory::new(py, from.len())).collect::<PyResult<Vec<Memory>>>()?;
    py.detach(|| fill(&mut tensors.into_iter().zip(&mut memories).collect::<Vec<_>>()))?;
    Ok(memories.into_iter().map(|memory| Ok((Bound::new(py, memory)?, 0))).collect::<PyResult<_>>()?)
}

fn fill(pairs: &mut [(Origin<'_>, &mut Memory)]) -> Result<(), Failure> {
    let (mut bytes, mut tasks) = (0, Vec::new());
    for (from, memory) in pairs {
        let to = memory.bytes_mut();
        bytes += to.len();
        let from = &*from;
        tasks.extend(to.pieces().enumerate().map(|(at, to)| (from, at * PIECE, to)));
    }
    in_parallel(bytes, tasks, signals(), |(from, offset, mut to)| {
        to.prepare();
        from.read(offset, to)
    })
}

/// Parts with at least so many runs are copied from a map: a call of the system for each would take longer.
const MANY_RUNS: u64 = 16;

impl Model {
    fn read_part(
        &self,
        py: Python<'_>,
        tensor: &FileTensor<'_>,
        selection: &Selection,
    ) -> Result<Memory, Failure> {
        let (plan, runs, len) = planned(tensor, selection)?;
        let mut memory = Memory::new(py, len)?;
        let mut bytes = memory.bytes_mut();
        py.detach(|| {
            bytes.prepare();
            match self.maps_parts && plan.run_count() >= MANY_RUNS {
                true => self.copy_runs(tensor, runs, bytes),
                false => read_runs(tensor, &selection.ranges(), bytes),
            }
        })?;
        Ok(memory)
    }

    /// Copies runs of bytes from a map.
    fn copy_runs(&self, tensor: &FileTensor<'_>, runs: ByteRuns, mut to: Uninit<'_>) -> Result<(), Failure> {
        let (map, begin) = (self.map_of_part(tensor)?, begin(tensor));
        for run in runs {
            let len = usize::try_from(run.end - run.start).unwrap_or(usize::MAX);
            map.copy_to(begin + run.start, to.take(len));
        }
        // The bytes are those of the validated file.
        Ok(tensor.model().check_unchanged()?)
    }

    /// Returns the map of the tensor's file. Maps are created when they are first needed. If a file has
    /// changed, that is an error, because access beyond the end of a map kills the process.
    fn map_of_part(&self, tensor: &FileTensor<'_>) -> Result<&Memory, Failure> {
        tensor.model().check_unchanged()?;
        let maps = match self.maps_of_parts.get() {
            Some(maps) => maps,
            None => {
                let maps = self.source.files().map(map).collect::<Result<_, FileError>>()?;
                self.maps_of_parts.get_or_init(|| maps)
            }
        };
        self.number_of(tensor).and_then(|at| maps.get(at)).ok_or_else(|| Failure::missing(tensor.name()))
    }
}

/// Returns the bytes that a selection needs, and their number.
pub fn planned(
    tensor: &IndexedTensor<'_>,
    selection: &Selection,
) -> Result<(SlicePlan, ByteRuns, u64), Failure> {
    let of_request = |kind: ErrorKind| Failure::of_argument(kind, kind).about(tensor.name());
    let plan = SlicePlan::new(tensor.dtype(), tensor.dims(), &selection.ranges()).map_err(of_request)?;
    let bits = tensor.dtype().bits();
    if plan.elements() > 0 && selection.reverses_parts_of_bytes(bits) {
        return Err(of_request(ErrorKind::PartOfByte { bits }));
    }
    let (runs, len) = (plan.byte_runs().map_err(of_request)?, plan.byte_len().map_err(of_request)?);
    Ok((plan, runs, len))
}

fn read_runs(tensor: &FileTensor<'_>, ranges: &[AxisRange], to: Uninit<'_>) -> Result<(), Failure> {
    let to = to.for_reading();
    let path = tensor.model().path();
    let of_request = |error: Error| Failure::of_argument(error.kind, error.kind).about(tensor.name());
    match tensor.reader().slice(ranges).map_err(of_request)?.read_to_end(to) {
        Ok(_) => Ok(()),
        Err(ReadError::Format(error)) => Err(of_request(error)),
        Err(ReadError::Source(error)) => Err(FileErrorKind::system("read", error).of(path).into()),
        Err(ReadError::UnexpectedEof { .. }) => Err(FileErrorKind::Changed.of(path).into()),
    }
}

pub fn info<'py>(py: Python<'py>, tensor: &IndexedTensor<'_>) -> Info<'py> {
    (dtype_name(py, tensor.dtype()), tensor.dims().to_vec(), (tensor.begin(), tensor.end()))
}

pub fn dtype_name(py: Python<'_>, dtype: Dtype) -> Bound<'_, PyString> {
    PyString::intern(py, dtype.name())
}

/// Validates a file in memory.
fn index_of(bytes: &[u8]) -> Result<OwnedIndex, Failure> {
    let len = bytes.first_chunk().map_or(0, |prefix| u64::from_le_bytes(*prefix));
    let end = usize::try_from(len).unwrap_or(usize::MAX).saturating_add(8).min(bytes.len());
    let header = &bytes[..end];
    OwnedIndex::of(header, bytes.len() as u64).map_err(|error| Failure::of_bytes(error, header))
}

fn data_of<'b>(index: &OwnedIndex, tensor: &IndexedTensor<'_>, bytes: &'b [u8]) -> &'b [u8] {
    let at = |offset| usize::try_from(index.summary().data_start + offset).unwrap_or(usize::MAX);
    &bytes[at(tensor.begin())..at(tensor.end())]
}

/// Copies all tensors of a file in memory, in the order of their bytes.
#[pyfunction]
pub fn read_bytes<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
) -> Result<Vec<(Bound<'py, PyString>, Tensor<'py>)>, Failure> {
    let buffer = Buffer::of(data)?;
    let (bytes, index) = (buffer.bytes(), py.detach(|| index_of(buffer.bytes()))?);
    let from = index.tensors().map(|tensor| Origin::Bytes(data_of(&index, &tensor, bytes))).collect();
    let memories = read_all(py, from)?;
    let tensor = |(tensor, (memory, offset)): (IndexedTensor<'_>, (Bound<'py, Memory>, u64))| {
        let (name, dims) = (PyString::new(py, tensor.name()), PyTuple::new(py, tensor.dims())?);
        Ok((name, (memory, offset, dtype_name(py, tensor.dtype()), dims)))
    };
    Ok(index.tensors().zip(memories).map(tensor).collect::<PyResult<_>>()?)
}

/// The name of a tensor, and its dtype, shape and bytes.
type Deserialized<'py> = (Bound<'py, PyString>, Bound<'py, PyDict>);

/// Returns the tensors of a file in memory, in the order of their bytes, each with its dtype, its shape and
/// its bytes: `[("weight", {"dtype": "F32", "shape": [2, 3], "data": bytearray(…)}), …]`.
#[pyfunction]
pub fn deserialize<'py>(
    py: Python<'py>,
    bytes: &Bound<'py, PyAny>,
) -> Result<Vec<Deserialized<'py>>, Failure> {
    let buffer = Buffer::of(bytes)?;
    let (bytes, index) = (buffer.bytes(), py.detach(|| index_of(buffer.bytes()))?);
    let (mut found, mut tasks) = (Vec::new(), Vec::new());
    for tensor in index.tensors() {
        let (from, members) = (data_of(&index, &tensor, bytes), PyDict::new(py));
        let (data, to) = uninit_bytearray(py, from.len())?;
        members.set_item("dtype", dtype_name(py, tensor.dtype()))?;
        members.set_item("shape", tensor.dims())?;
        members.set_item("data", data)?;
        tasks.extend(pieces(from, to));
        found.push((PyString::new(py, tensor.name()), members));
    }
    py.detach(|| copy_all(tasks));
    Ok(found)
}

/// Validates a model without reading its tensors. An invalid one raises a SafetensorError with code and byte.
///
/// model: a path, of a file, an index or a directory with one of these; or the bytes of a file.
#[pyfunction]
pub fn check(py: Python<'_>, model: &Bound<'_, PyAny>) -> Result<(), Failure> {
    match model.extract::<PathBuf>() {
        Ok(path) => py.detach(|| Source::open(&path)).map(drop),
        Err(_) => {
            let buffer = Buffer::of(model)?;
            py.detach(|| index_of(buffer.bytes())).map(drop)
        }
    }
}
