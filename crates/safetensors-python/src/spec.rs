//! Tensors to be written, as Python describes them.

use crate::arguments::{Items, Text, form};
use crate::buffer::Buffer;
use crate::dtype::check_elements;
use crate::error::Failure;
use embedded_safetensors::Dtype;
use embedded_safetensors::write::TensorSpec as Spec;
use pyo3::prelude::*;

/// A tensor to be written: its dtype, its shape, and where its bytes are.
///
/// dtype: a name of numpy, ml_dtypes or torch, or of the format; or a dtype of these packages.
/// shape: the dimensions; of `float4_e2m1fn_x2`, as torch has them, with two elements in each of the last
///     axis.
/// data: an object with the elements, contiguous and little-endian, such as an array of this dtype; or bytes.
/// data_ptr, data_len: instead of `data`, the address of the bytes and their number. They must stay valid
///     while the tensor is written.
#[pyclass(frozen, module = "embedded_safetensors")]
pub struct TensorSpec {
    pub dtype: Dtype,
    pub dims: Vec<u64>,
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
        dtype: &Bound<'_, PyAny>,
        shape: &Bound<'_, PyAny>,
        data_ptr: usize,
        data_len: usize,
        data: Option<Bound<'_, PyAny>>,
    ) -> Result<Self, Failure> {
        let (dtype, dims) = form(dtype, shape)?;
        data.as_ref().map_or(Ok(()), |data| check_elements(data, dtype))?;
        let data = data.map_or(Data::Address(data_ptr, data_len), |data| Data::Object(data.unbind()));
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
    pub fn bytes(&self, py: Python<'_>) -> Result<Bytes, Failure> {
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

/// The tensors of a mapping of Python, in its order.
pub struct Tensors<'py>(Vec<Tensor<'py>>);

struct Tensor<'py> {
    name: String,
    spec: Bound<'py, TensorSpec>,
    bytes: Bytes,
}

impl<'py> Tensors<'py> {
    /// # Errors
    /// `TypeError` when the mapping has something else; those of [`Buffer::of`] and of names.
    pub fn of(py: Python<'py>, tensors: Items<'py>) -> Result<Self, Failure> {
        let tensor = |(name, spec): (Bound<'py, PyAny>, Bound<'py, PyAny>)| {
            let Text(name) = name.extract()?;
            let spec = spec.cast_into::<TensorSpec>().map_err(PyErr::from)?;
            let bytes = spec.get().bytes(py)?;
            Ok(Tensor { name, spec, bytes })
        };
        tensors.0.into_iter().map(tensor).collect::<Result<_, Failure>>().map(Self)
    }

    /// Returns the descriptions and the bytes.
    ///
    /// # Errors
    /// For a wrong number of bytes.
    pub fn parts(&self) -> Result<(Vec<Spec<'_>>, Vec<&[u8]>), Failure> {
        let parts: Result<Vec<_>, Failure> = self.0.iter().map(Tensor::part).collect();
        parts.map(|parts| parts.into_iter().unzip())
    }
}

impl Tensor<'_> {
    fn part(&self) -> Result<(Spec<'_>, &[u8]), Failure> {
        let TensorSpec { dtype, dims, .. } = self.spec.get();
        let (spec, bytes) = (Spec::new(&self.name, *dtype, dims), self.bytes.get());
        match spec.byte_len() {
            Ok(needed) if needed != bytes.len() as u64 => {
                Err(Failure::of_length(needed, bytes.len()).about(spec.name()))
            }
            // An impossible shape is an error of the plan.
            _ => Ok((spec, bytes)),
        }
    }
}
