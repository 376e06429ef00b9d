//! Files and bytes that are written at once.

use crate::error::Failure;
use crate::parallel::{PIECE, in_parallel};
use crate::spec::{Metadata, Tensors, pairs};
use embedded_safetensors::write::{FilePlan, FileSpec, PlannedContent, SpecError, SpecPart, TensorSpec};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use safetensors_files::shards::{ShardPlan, parse_shard_size};
use safetensors_files::{EditError, EditErrorKind, FileWriter};
use std::collections::HashMap;
use std::convert::Infallible;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

/// Returns a file with these tensors.
#[pyfunction]
#[pyo3(signature = (tensor_dict, metadata=None))]
pub fn serialize<'py>(
    tensor_dict: &Bound<'py, PyDict>,
    metadata: Metadata,
) -> Result<Bound<'py, PyBytes>, Failure> {
    let (py, tensors) = (tensor_dict.py(), Tensors::of(tensor_dict)?);
    let (specs, bytes) = tensors.parts()?;
    let pairs = pairs(&metadata);
    let (spec, mut order) = (file_spec(&specs, pairs.as_deref()), order_of(&specs, pairs.as_deref()));
    let plan = spec.plan_sorted(&mut order).map_err(|error| impossible(spec, error))?;
    let (file, memory) = uninit_bytes(py, plan.file_len())?;
    py.detach(|| copy(&plan, &bytes, memory));
    Ok(file)
}

/// Returns a new object, and its memory, which nothing else uses yet.
#[allow(clippy::mut_from_ref)]
fn uninit_bytes(py: Python<'_>, len: u64) -> PyResult<(Bound<'_, PyBytes>, &mut [MaybeUninit<u8>])> {
    let len = isize::try_from(len)
        .map_err(|_| pyo3::exceptions::PyMemoryError::new_err("the file is too large"))?;
    // SAFETY: without a source, the object has this many bytes, which are not initialised.
    let object =
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyBytes_FromStringAndSize(std::ptr::null(), len))? };
    let object = object.cast_into::<PyBytes>()?;
    // SAFETY: the object is new, so nothing else accesses its bytes until it is returned to Python.
    let memory = unsafe {
        let start = ffi::PyBytes_AsString(object.as_ptr()).cast();
        std::slice::from_raw_parts_mut(start, len.unsigned_abs())
    };
    Ok((object, memory))
}

/// Copies the header and the tensors. Together they are the entire file.
fn copy(plan: &FilePlan<'_>, bytes: &[&[u8]], memory: &mut [MaybeUninit<u8>]) {
    let (mut encoder, mut window, mut rest) = (plan.encoder(), [0; 4096], memory);
    while let header @ [_, ..] = encoder.encode(&mut window) {
        let (to, after) = rest.split_at_mut(header.len());
        write(header, to);
        rest = after;
    }
    let (len, mut tasks) = (rest.len(), Vec::new());
    for index in in_order(plan) {
        let from = bytes[index];
        let (to, after) = rest.split_at_mut(from.len());
        tasks.extend(from.chunks(PIECE).zip(to.chunks_mut(PIECE)));
        rest = after;
    }
    let copied: Result<(), Infallible> = in_parallel(len, tasks, |(from, to)| {
        write(from, to);
        Ok(())
    });
    copied.unwrap_or_else(|never| match never {});
}

fn write(from: &[u8], to: &mut [MaybeUninit<u8>]) {
    assert_eq!(from.len(), to.len());
    // SAFETY: both have this length, and one of them is borrowed mutably.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr().cast(), from.len()) };
}

/// Writes a file with these tensors, which replaces an old one atomically. With `sync`, it is on the disk when
/// this returns, and a power cut leaves the old file or the new one.
#[pyfunction]
#[pyo3(signature = (tensor_dict, filename, metadata=None, *, sync=false))]
pub fn serialize_file(
    tensor_dict: &Bound<'_, PyDict>,
    filename: PathBuf,
    metadata: Metadata,
    sync: bool,
) -> Result<(), Failure> {
    let (py, tensors) = (tensor_dict.py(), Tensors::of(tensor_dict)?);
    let (specs, bytes) = tensors.parts()?;
    let pairs = pairs(&metadata);
    Ok(py.detach(|| write_file(&filename, file_spec(&specs, pairs.as_deref()), &bytes, sync))?)
}

/// Divides tensors among files of at most `max_shard_size` bytes, with an index if there are several. Returns
/// the path to open.
#[pyfunction]
#[pyo3(signature = (tensor_dict, directory, metadata=None, *, max_shard_size="5GB"))]
pub fn save_sharded(
    tensor_dict: &Bound<'_, PyDict>,
    directory: PathBuf,
    metadata: Metadata,
    max_shard_size: &str,
) -> Result<PathBuf, Failure> {
    let (py, tensors) = (tensor_dict.py(), Tensors::of(tensor_dict)?);
    let (specs, bytes) = tensors.parts()?;
    let pairs = pairs(&metadata);
    let size = parse_shard_size(max_shard_size)
        .ok_or_else(|| Failure::say(format_args!("not a size, such as 5GB or 500MB: {max_shard_size:?}")))?;
    let by_name: HashMap<&str, usize> =
        specs.iter().enumerate().map(|(at, spec)| (spec.name(), at)).collect();
    let lens = specs.iter().zip(&bytes).map(|(spec, bytes)| (spec.name(), bytes.len() as u64));
    let plan = ShardPlan::new("model", lens, size);
    let written = py.detach(|| {
        plan.write(&directory, |shard, path| {
            let chosen = || shard.tensors().iter().filter_map(|name| by_name.get(name.as_str()).copied());
            let specs: Vec<TensorSpec<'_>> = chosen().map(|at| specs[at]).collect();
            let bytes: Vec<&[u8]> = chosen().map(|at| bytes[at]).collect();
            write_file(path, file_spec(&specs, pairs.as_deref()), &bytes, true)
        })
    });
    Ok(written?)
}

fn write_file(path: &Path, spec: FileSpec<'_>, bytes: &[&[u8]], sync: bool) -> Result<(), EditError> {
    let mut file = FileWriter::create(path, spec)?;
    let mut order = order_of(spec.tensors(), spec.metadata());
    // The writer has made the same plan, so this is one, too.
    if let Ok(plan) = spec.plan_sorted(&mut order) {
        for index in in_order(&plan) {
            file.write_tensor(spec.tensors()[index].name(), bytes[index])?;
        }
    }
    if sync { file.finish() } else { file.finish_without_sync() }
}

pub fn file_spec<'a>(specs: &'a [TensorSpec<'a>], pairs: Option<&'a [(&'a str, &'a str)]>) -> FileSpec<'a> {
    let spec = FileSpec::new(specs);
    pairs.map_or(spec, |pairs| spec.with_metadata(pairs))
}

/// Returns memory for the order of tensors and keys.
fn order_of(specs: &[TensorSpec<'_>], pairs: Option<&[(&str, &str)]>) -> Vec<u32> {
    vec![0; specs.len() + pairs.map_or(0, <[_]>::len)]
}

/// Returns the tensors in the order of the file, as indices of the description.
fn in_order<'p>(plan: &FilePlan<'p>) -> impl Iterator<Item = usize> + use<'p> {
    plan.tensors().filter_map(|tensor| match tensor.content {
        PlannedContent::Tensor { index, .. } => Some(index),
        PlannedContent::Padding { .. } => None,
    })
}

/// Returns the error of an impossible file.
fn impossible(spec: FileSpec<'_>, error: SpecError) -> Failure {
    let name = match error.part {
        SpecPart::Tensor(index) => spec.tensors().get(index).map(TensorSpec::name),
        SpecPart::Key(index) => spec.metadata().and_then(|pairs| pairs.get(index)).map(|&(key, _)| key),
        SpecPart::File => None,
    };
    Failure::of_edit(&EditErrorKind::Spec { error, name: name.unwrap_or("").to_owned() })
}
