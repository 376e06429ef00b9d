//! Tensors that are overwritten in place.

use crate::arguments::Text;
use crate::error::Failure;
use crate::index::Selection;
use crate::parallel::signals;
use crate::spec::TensorSpec;
use pyo3::prelude::*;
use safetensors_files::{ModelEditor, NewBytes};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Overwrites a tensor, or what an index selects of it, in place.
///
/// spec: a function that receives the axes to be reversed, and returns a TensorSpec with the new values.
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
    let flips = part.as_ref().map_or(vec![], |part| part.flips.clone());
    new = spec.call1((flips,))?.cast_into::<TensorSpec>().map_err(PyErr::from)?;
    let (dtype, mut dims) = (new.get().dtype, new.get().dims.clone());
    bytes = new.get().bytes(py)?;
    match part {
        None => editor.set_tensor(name, NewBytes::new(dtype, &dims, bytes.get()))?,
        Some(part) => {
            // The file has no new axes.
            dims = if dims == part.shape() { part.kept() } else { dims };
            editor.set_slice(name, &part.ranges(), NewBytes::new(dtype, &dims, bytes.get()))?;
        }
    }
    editor.set_in_place_only();
    py.detach(|| {
        let (check, mut signal) = (signals(), None);
        let saved = editor.save_watched(&filename, &mut |_, _| match check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(exception) => {
                signal = Some(exception);
                ControlFlow::Break(())
            }
        });
        signal.map_or_else(|| Ok(saved.map(drop)?), Err)
    })
}
