//! Tensors that are overwritten in place.

use crate::arguments::Text;
use crate::error::Failure;
use crate::index::Selection;
use crate::parallel::stoppable;
use crate::spec::TensorSpec;
use embedded_safetensors::ErrorKind;
use pyo3::prelude::*;
use safetensors_files::{ModelEditor, NewBytes};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Overwrites a tensor, or what an index selects of it, in place.
///
/// spec: a function that receives the shape due and the axes to be reversed, and returns a TensorSpec with
///     the new values.
#[pyfunction]
#[pyo3(signature = (filename, name, spec, index=None))]
pub fn set_tensor(
    py: Python<'_>,
    filename: PathBuf,
    name: Text,
    spec: &Bound<'_, PyAny>,
    index: Option<&Bound<'_, PyAny>>,
) -> Result<(), Failure> {
    let Text(name) = &name;
    // They outlive the editor.
    let (new, bytes);
    let mut editor = py.detach(|| ModelEditor::open(&filename))?;
    let tensor = editor.tensor(name).ok_or_else(|| Failure::missing(name))?;
    let part = index.map(|index| Selection::parse(index, tensor.dims())).transpose();
    let part = part.map_err(|error| error.about(name))?;
    let (shape, bits) = (tensor.dims().to_vec(), tensor.dtype().bits());
    let (shape, flips) = part.as_ref().map_or((shape, vec![]), |part| (part.shape(), part.flips.clone()));
    new = spec.call1((&shape, flips))?.cast_into::<TensorSpec>().map_err(PyErr::from)?;
    let (dtype, dims) = (new.get().dtype, &new.get().dims);
    if *dims != shape {
        return Err(Failure::of_shape(format_args!("shape {shape:?} needed, {dims:?} given")).about(name));
    }
    bytes = new.get().bytes(py)?;
    match part {
        None => editor.set_tensor(name, NewBytes::new(dtype, dims, bytes.get()))?,
        Some(part) if part.reverses_parts_of_bytes(bits) => {
            let kind = ErrorKind::PartOfByte { bits };
            return Err(Failure::of_argument(kind, kind).about(name));
        }
        // The file has no new axes.
        Some(part) => {
            let new = NewBytes::new(dtype, &part.kept(), bytes.get());
            editor.set_slice(name, &part.ranges(), new)?;
        }
    }
    editor.set_in_place_only();
    let is_stopped = AtomicBool::new(false);
    let stop = || is_stopped.store(true, Ordering::Relaxed);
    let watch = |_, _| match is_stopped.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    stoppable(py, stop, || Ok(editor.save_watched(&filename, &mut { watch }).map(drop)?))
}
