//! Tensors to be written, as Python describes them.

use crate::buffer::Buffer;
use crate::dtype;
use crate::error::Failure;
use embedded_safetensors::Dtype;
use embedded_safetensors::write::TensorSpec as Spec;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::collections::BTreeMap;

/// A tensor to be written: its dtype, its shape, and where its bytes are.
///
/// dtype: a name of numpy, ml_dtypes or torch, or of the format.
/// shape: the dimensions; of `float4_e2m1fn_x2`, as torch has them, with two elements in each of the last
///     axis.
/// data: an object with the bytes, contiguous and little-endian, such as an array.
/// data_ptr, data_len: instead of `data`, the address of the bytes and their number. They must stay valid
///     while the tensor is written.
#[pyclass(frozen, module = "embedded_safetensors")]
pub struct TensorSpec {
    dtype: Dtype,
    dims: Vec<u64>,
    data: Data,
}

enum Data {
    Object(Py<PyAny>),
    Address(usize, usize),
}

/// Bytes that stay valid while they are written.
pub enum Bytes {
    Buffer(Buffer),
    Address(usize, usize),
}

#[pymethods]
impl TensorSpec {
    #[new]
    #[pyo3(signature = (*, dtype, shape, data_ptr=0, data_len=0, data=None))]
    fn new(
        dtype: &str,
        shape: Vec<u64>,
        data_ptr: usize,
        data_len: usize,
        data: Option<Py<PyAny>>,
    ) -> Result<Self, Failure> {
        let is_packed = dtype == "float4_e2m1fn_x2";
        let (dtype, mut dims) = (dtype::parse(dtype)?, shape);
        if let (true, Some(last)) = (is_packed, dims.last_mut()) {
            *last = last.checked_mul(2).ok_or_else(|| Failure::say("the last axis is too long"))?;
        }
        let data = data.map_or(Data::Address(data_ptr, data_len), Data::Object);
        if matches!(data, Data::Address(0, 1..)) {
            return Err(Failure::say(format_args!("there are no {data_len} bytes at the address 0")));
        }
        Ok(Self { dtype, dims, data })
    }

    /// The dtype's name in files, such as F32.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.dtype.name()
    }

    /// The dimensions in files.
    #[getter]
    fn shape(&self) -> Vec<u64> {
        self.dims.clone()
    }

    /// The address of the bytes; 0 with `data`.
    #[getter]
    fn data_ptr(&self) -> usize {
        match self.data {
            Data::Address(start, _) => start,
            Data::Object(_) => 0,
        }
    }

    /// The number of bytes at the address; 0 with `data`.
    #[getter]
    fn data_len(&self) -> usize {
        match self.data {
            Data::Address(_, len) => len,
            Data::Object(_) => 0,
        }
    }

    fn __repr__(&self) -> String {
        format!("TensorSpec(dtype='{}', shape={:?})", self.dtype.name(), self.dims)
    }
}

impl TensorSpec {
    /// Returns its bytes, which stay valid.
    fn bytes(&self, py: Python<'_>) -> Result<Bytes, Failure> {
        match &self.data {
            Data::Object(object) => Buffer::of(object.bind(py)).map(Bytes::Buffer),
            &Data::Address(start, len) => Ok(Bytes::Address(start, len)),
        }
    }
}

impl Bytes {
    pub fn get(&self) -> &[u8] {
        match *self {
            Self::Buffer(ref buffer) => buffer.bytes(),
            Self::Address(_, 0) => &[],
            // SAFETY: the caller that created the description with an address guarantees that the bytes are
            // there.
            Self::Address(start, len) => unsafe {
                std::slice::from_raw_parts(std::ptr::with_exposed_provenance(start), len)
            },
        }
    }
}

/// The tensors of a dictionary of Python, in its order.
pub struct Tensors<'py>(Vec<Tensor<'py>>);

struct Tensor<'py> {
    name: Bound<'py, PyString>,
    spec: Bound<'py, TensorSpec>,
    bytes: Bytes,
}

impl<'py> Tensors<'py> {
    /// # Errors
    /// `TypeError` when the dictionary has something else; those of [`Buffer::of`].
    pub fn of(tensors: &Bound<'py, PyDict>) -> Result<Self, Failure> {
        let py = tensors.py();
        let tensor = |(name, spec): (Bound<'py, PyAny>, Bound<'py, PyAny>)| {
            let name = name.cast_into::<PyString>().map_err(PyErr::from)?;
            let spec = spec.cast_into::<TensorSpec>().map_err(PyErr::from)?;
            let bytes = spec.get().bytes(py)?;
            Ok(Tensor { name, spec, bytes })
        };
        tensors.iter().map(tensor).collect::<Result<_, Failure>>().map(Self)
    }

    /// Returns the descriptions and the bytes.
    ///
    /// # Errors
    /// For a name that is not valid Unicode, and for a wrong number of bytes.
    pub fn parts(&self) -> Result<(Vec<Spec<'_>>, Vec<&[u8]>), Failure> {
        let parts: Result<Vec<_>, Failure> = self.0.iter().map(Tensor::part).collect();
        parts.map(|parts| parts.into_iter().unzip())
    }
}

impl Tensor<'_> {
    fn part(&self) -> Result<(Spec<'_>, &[u8]), Failure> {
        let TensorSpec { dtype, dims, .. } = self.spec.get();
        let name =
            self.name.to_str().map_err(|_| Failure::say("the name of a tensor is not valid Unicode"))?;
        let (spec, bytes) = (Spec::new(name, *dtype, dims), self.bytes.get());
        match spec.byte_len() {
            Ok(needed) if needed != bytes.len() as u64 => {
                let reason = Failure::say(format_args!("{needed} bytes needed, {} given", bytes.len()));
                Err(reason.about(spec.name()))
            }
            // An impossible shape is an error of the plan.
            _ => Ok((spec, bytes)),
        }
    }
}

/// `__metadata__`, sorted by key.
pub type Metadata = Option<BTreeMap<String, String>>;

/// Returns the pairs.
pub fn pairs(metadata: &Metadata) -> Option<Vec<(&str, &str)>> {
    metadata.as_ref().map(|pairs| pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect())
}
