//! The arguments of functions: their types in Python, and what they contain.

use crate::dtype;
use crate::error::{Failure, SafetensorError};
use embedded_safetensors::Dtype;
use pyo3::Borrowed;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};
use std::collections::BTreeMap;
use std::fmt::Display;

/// A name, a key or a value: a text that is valid Unicode.
pub struct Text(pub String);

/// The dimensions of a tensor.
struct Dims(Vec<u64>);

/// The pairs of a mapping, in its order.
pub struct Items<'py>(pub Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>);

/// `__metadata__`, sorted by key.
pub struct Metadata(pub BTreeMap<String, String>);

impl FromPyObject<'_, '_> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let text = object.cast::<PyString>()?;
        match text.to_cow() {
            Ok(valid) => Ok(Self(valid.into_owned())),
            Err(_) => Err(Failure::say(format_args!("not valid Unicode: {}", text.repr()?)).into()),
        }
    }
}

impl FromPyObject<'_, '_> for Dims {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let dim = |size: PyResult<Bound<'_, PyAny>>| {
            let size = size?;
            size.extract::<u64>().map_err(|error| {
                match error.is_instance_of::<PyOverflowError>(object.py()) {
                    true => Failure::say(format_args!("not the length of an axis: {size}")).into(),
                    false => error,
                }
            })
        };
        object.try_iter()?.map(dim).collect::<PyResult<_>>().map(Self)
    }
}

impl<'py> FromPyObject<'_, 'py> for Items<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(pairs) = object.cast::<PyDict>() {
            return Ok(Self(pairs.iter().collect()));
        }
        let pairs = object.cast::<PyMapping>()?.items()?;
        pairs.iter().map(|pair| pair.extract()).collect::<PyResult<_>>().map(Self)
    }
}

impl FromPyObject<'_, '_> for Metadata {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let Items(pairs) = object.extract()?;
        let py = object.py();
        let pair = |(key, value): &(Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<_> {
            let text = |part: &Bound<'_, PyAny>| -> Result<String, Failure> {
                let Text(text) =
                    part.extract().map_err(|error| about(py, error, format_args!("metadata {key:?}")))?;
                Ok(text)
            };
            Ok((text(key)?, text(value)?))
        };
        pairs.iter().map(pair).collect::<PyResult<_>>().map(Self)
    }
}

/// Returns the same error, about this. Only a wrong argument is: an interruption stays what it is.
fn about(py: Python<'_>, error: PyErr, what: impl Display) -> Failure {
    let sentence = format!("{what}: {}", error.value(py));
    match () {
        () if error.is_instance_of::<PyTypeError>(py) => PyTypeError::new_err(sentence).into(),
        () if error.is_instance_of::<SafetensorError>(py) => Failure::say(sentence),
        () => error.into(),
    }
}

/// Returns the dtype and the dimensions in files. Torch packs two elements of 4 bits in one of
/// `float4_e2m1fn_x2`, and its last axis counts those.
pub fn form(dtype: &Bound<'_, PyAny>, dims: &Bound<'_, PyAny>) -> Result<(Dtype, Vec<u64>), Failure> {
    let name = dtype::name_of(dtype)?;
    let dtype = dtype::parse(&name)?;
    let Dims(mut dims) = dims.extract().map_err(|error| about(dims.py(), error, "the shape"))?;
    if let (true, Some(last)) = (name.ends_with("float4_e2m1fn_x2"), dims.last_mut()) {
        *last = last.checked_mul(2).ok_or_else(|| Failure::say("the last axis is too long"))?;
    }
    Ok((dtype, dims))
}

/// Returns the pairs.
pub fn pairs(metadata: &Option<Metadata>) -> Option<Vec<(&str, &str)>> {
    let Metadata(pairs) = metadata.as_ref()?;
    Some(pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect())
}
