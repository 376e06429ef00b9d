//! The arguments of functions: their types in Python, and what they contain.

use crate::error::Failure;
use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};
use std::collections::BTreeMap;

/// A name, a key or a value: a text that is valid Unicode.
pub struct Text(pub String);

/// The dimensions of a tensor.
pub struct Dims(pub Vec<u64>);

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
            size.extract::<u64>().map_err(|error| match error.is_instance_of::<PyTypeError>(object.py()) {
                true => error,
                false => Failure::say(format_args!("not the length of an axis: {size}")).into(),
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
        let text = |object: &Bound<'_, PyAny>| object.extract().map(|Text(text)| text);
        let Items(pairs) = object.extract()?;
        let pairs = pairs.iter().map(|(key, value)| Ok((text(key)?, text(value)?)));
        pairs.collect::<PyResult<_>>().map(Self)
    }
}

/// Returns the pairs.
pub fn pairs(metadata: &Option<Metadata>) -> Option<Vec<(&str, &str)>> {
    let Metadata(pairs) = metadata.as_ref()?;
    Some(pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect())
}
