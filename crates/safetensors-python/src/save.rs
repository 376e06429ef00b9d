//! Files and bytes that are written at once.

use crate::arguments::{Items, Metadata, pairs};
use crate::copy::{Uninit, copy, copy_all, pieces, uninit_bytes};
use crate::error::Failure;
use crate::parallel::{PIECE, signals};
use crate::spec::Tensors;
use embedded_safetensors::write::{FilePlan, FileSpec, PlannedContent, SpecError, SpecPart, TensorSpec};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use safetensors_files::shards::{ShardPlan, parse_shard_size};
use safetensors_files::{EditError, EditErrorKind, FileWriter};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// Returns a file with these tensors.
#[pyfunction]
#[pyo3(signature = (tensor_dict, metadata=None))]
pub fn serialize<'py>(
    py: Python<'py>,
    tensor_dict: Items<'py>,
    metadata: Option<Metadata>,
) -> Result<Bound<'py, PyBytes>, Failure> {
    let tensors = Tensors::of(py, tensor_dict)?;
    let (specs, bytes) = tensors.parts()?;
    let pairs = pairs(&metadata);
    let (spec, mut order) = (file_spec(&specs, pairs.as_deref()), order_of(&specs, pairs.as_deref()));
    let plan = spec.plan_sorted(&mut order).map_err(|error| impossible(spec, error))?;
    let (file, memory) = uninit_bytes(py, plan.file_len())?;
    py.detach(|| write(&plan, &bytes, memory));
    Ok(file)
}

/// Writes the header and the tensors, which together are the entire file.
fn write(plan: &FilePlan<'_>, bytes: &[&[u8]], mut memory: Uninit<'_>) {
    let (mut encoder, mut window) = (plan.encoder(), [0; 4096]);
    while let header @ [_, ..] = encoder.encode(&mut window) {
        copy(header, memory.take(header.len()));
    }
    let mut tasks = Vec::new();
    for index in in_order(plan) {
        let from = bytes[index];
        tasks.extend(pieces(from, memory.take(from.len())));
    }
    copy_all(tasks);
}

/// Writes a file with these tensors, which replaces an old one atomically. With `sync`, it is on the disk
/// when this returns, and a power cut leaves the old file or the new one.
#[pyfunction]
#[pyo3(signature = (tensor_dict, filename, metadata=None, *, sync=false))]
pub fn serialize_file(
    py: Python<'_>,
    tensor_dict: Items<'_>,
    filename: PathBuf,
    metadata: Option<Metadata>,
    sync: bool,
) -> Result<(), Failure> {
    let tensors = Tensors::of(py, tensor_dict)?;
    let (specs, bytes) = tensors.parts()?;
    let pairs = pairs(&metadata);
    py.detach(|| write_file(&filename, file_spec(&specs, pairs.as_deref()), &bytes, sync))
}

/// Divides tensors among files of at most `max_shard_size` bytes, with an index if there are several. Returns
/// the path to open.
#[pyfunction]
#[pyo3(signature = (tensor_dict, directory, metadata=None, *, max_shard_size="5GB"))]
pub fn save_sharded(
    py: Python<'_>,
    tensor_dict: Items<'_>,
    directory: PathBuf,
    metadata: Option<Metadata>,
    max_shard_size: &str,
) -> Result<PathBuf, Failure> {
    let tensors = Tensors::of(py, tensor_dict)?;
    let (specs, bytes) = tensors.parts()?;
    let pairs = pairs(&metadata);
    let size = parse_shard_size(max_shard_size)
        .ok_or_else(|| Failure::say(format_args!("not a size, such as 5GB or 500MB: {max_shard_size:?}")))?;
    let by_name: HashMap<&str, usize> =
        specs.iter().enumerate().map(|(at, spec)| (spec.name(), at)).collect();
    let lens = specs.iter().zip(&bytes).map(|(spec, bytes)| (spec.name(), bytes.len() as u64));
    let plan = ShardPlan::new("model", lens, size);
    // The library's error cannot hold the exception of a signal.
    let mut failed = None;
    let written = py.detach(|| {
        plan.write(&directory, |shard, path| {
            let chosen = || shard.tensors().iter().filter_map(|name| by_name.get(name.as_str()).copied());
            let specs: Vec<TensorSpec<'_>> = chosen().map(|at| specs[at]).collect();
            let bytes: Vec<&[u8]> = chosen().map(|at| bytes[at]).collect();
            write_file(path, file_spec(&specs, pairs.as_deref()), &bytes, true).map_err(|failure| {
                failed = Some(failure);
                EditError::from(io::Error::other("a shard was not written"))
            })
        })
    });
    match failed {
        Some(failure) => Err(failure),
        None => Ok(written?),
    }
}

fn write_file(path: &Path, spec: FileSpec<'_>, bytes: &[&[u8]], sync: bool) -> Result<(), Failure> {
    let check = signals();
    let mut file = FileWriter::create(path, spec)?;
    let mut order = order_of(spec.tensors(), spec.metadata());
    // The writer has made the same plan, so this is one, too.
    if let Ok(plan) = spec.plan_sorted(&mut order) {
        for index in in_order(&plan) {
            let mut tensor = file.tensor(spec.tensors()[index].name())?;
            for piece in bytes[index].chunks(PIECE) {
                check()?;
                tensor.write_bytes(piece)?;
            }
        }
    }
    Ok(if sync { file.finish() } else { file.finish_without_sync() }?)
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
