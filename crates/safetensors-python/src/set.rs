//! Tensors that are overwritten in place.

use crate::arguments::Text;
use crate::error::Failure;
use crate::index::Selection;
use crate::parallel::{PIECE, signals};
use crate::spec::TensorSpec;
use embedded_safetensors::FileModel;
use embedded_safetensors::file::FileErrorKind;
use embedded_safetensors::file::shared::read_up_to;
use embedded_safetensors::integrity::{KEY, Sha256, Verifier};
use pyo3::prelude::*;
use safetensors_files::{ModelEditor, NewBytes};
use std::path::{Path, PathBuf};

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
        if editor.metadata().any(|(key, _)| key == KEY) {
            check_sum(&filename)?;
        }
        Ok(editor.save(&filename).map(drop)?)
    })
}

/// Checks that a file has the sum that is in it: a new sum would hide old damage.
fn check_sum(path: &Path) -> Result<(), Failure> {
    let (model, mut verifier, check) = (FileModel::open(path)?, Verifier::new(Sha256::new()), signals());
    let (mut piece, mut at) = (vec![0; PIECE], 0);
    loop {
        let read = read_up_to(&mut &model, at, &mut piece);
        match read.map_err(|error| FileErrorKind::system("read", error).of(path))? {
            0 => return Ok(verifier.verify().map_err(|error| FileErrorKind::Format(error).of(path))?),
            len => verifier.update(&piece[..len]),
        }
        at += PIECE as u64;
        check()?;
    }
}
