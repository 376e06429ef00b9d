//! Inputs of a conversion: a model or numpy arrays.

use super::arrays::Arrays;
use super::kind::Kind;
use crate::complaint::Complaint;
use crate::model::{Model, Padding, Tensor};
use crate::overwrite::{check_not_in_model, check_not_input};
use crate::remote::Reader;
use crate::work::Work;
use embedded_safetensors::{Dtype, TensorReader};
use safetensors_convert::numpy::{Header, Order};
use safetensors_convert::zip::read_full;
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;

/// Bytes read at a time: complete elements of every dtype.
const CHUNK: usize = 3 << 15;

/// A tensor of an input.
#[derive(Clone, Debug)]
pub struct Array {
    pub name: String,
    pub dtype: Dtype,
    pub dims: Vec<u64>,
    /// Whether the elements are bits of an unknown dtype.
    pub is_raw: bool,
}

impl Array {
    pub fn new(name: &str, header: &Header) -> Self {
        let is_raw = header.order == Order::Raw;
        Self { name: name.to_owned(), dtype: header.dtype, dims: header.dims.clone(), is_raw }
    }

    fn of(tensor: &Tensor<'_>) -> Self {
        let (name, dtype, dims) = (tensor.name().to_owned(), tensor.dtype(), tensor.dims().to_vec());
        Self { name, dtype, dims, is_raw: false }
    }

    pub fn elements(&self) -> u64 {
        self.dims.iter().product()
    }

    /// Validated to be complete and to fit into 64 bits.
    pub fn byte_len(&self) -> u64 {
        self.elements() * u64::from(self.dtype.bits()) / 8
    }
}

/// An open input and its tensors.
pub struct Input {
    pub arrays: Vec<Array>,
    /// The padding that a model has in addition.
    pub padding: Padding,
    /// The index of each name in the list.
    names: HashMap<String, usize>,
    source: Source,
}

enum Source {
    Model(Model),
    Arrays(Arrays),
}

impl Input {
    /// Opens an input. The array of a `.npy` gets `name`, or the name of the file.
    ///
    /// # Errors
    /// The input cannot be read or is invalid.
    pub fn open(path: &Path, name: Option<&str>) -> Result<Self, Complaint> {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
        match Kind::of_input(path) {
            Kind::Array => Ok(Self::of_arrays(Arrays::open_one(path, name.unwrap_or(&stem))?)),
            _ if name.is_some() => {
                Err(Complaint::about(path, "--name works with .npy only: all other inputs have tensor names"))
            }
            Kind::Archive => Ok(Self::of_arrays(Arrays::open_many(path)?)),
            Kind::Model => {
                let model = Model::open(path)?;
                let (tensors, padding) = model.without_padding()?;
                let arrays = tensors.iter().map(Array::of).collect();
                Ok(Self { padding, ..Self::new(arrays, Source::Model(model)) })
            }
        }
    }

    fn of_arrays(source: Arrays) -> Self {
        Self::new(source.arrays().cloned().collect(), Source::Arrays(source))
    }

    fn new(arrays: Vec<Array>, source: Source) -> Self {
        let names = arrays.iter().enumerate().map(|(index, array)| (array.name.clone(), index)).collect();
        Self { arrays, padding: Padding::default(), names, source }
    }

    /// The index of the array of this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    pub fn path(&self) -> &Path {
        match &self.source {
            Source::Model(model) => model.path(),
            Source::Arrays(arrays) => arrays.path(),
        }
    }

    /// # Errors
    /// The output is a file of the input.
    pub fn must_not_be(&self, output: &Path) -> Result<(), Complaint> {
        match &self.source {
            Source::Model(model) => check_not_in_model(model, output),
            Source::Arrays(arrays) => check_not_input(arrays.path(), output),
        }
    }

    /// The contents of `__metadata__`, if any.
    pub fn metadata(&self) -> Option<Vec<(&str, &str)>> {
        match &self.source {
            Source::Model(model) => model.pairs(),
            Source::Arrays(_) => None,
        }
    }

    /// # Errors
    /// The input has changed since it was opened.
    pub fn check_unchanged(&self) -> Result<(), Complaint> {
        match &self.source {
            Source::Model(model) => model.check_unchanged(),
            Source::Arrays(arrays) => arrays.check_unchanged(),
        }
    }

    /// Reads the array at this index from front to end.
    ///
    /// # Errors
    /// The input cannot be read or is invalid.
    pub fn read(&self, index: usize) -> Result<Chunks<'_>, Complaint> {
        Ok(Chunks { input: self, source: self.bytes(index)? })
    }

    /// The bytes of the array at this index. [`complaint`](Self::complaint) explains their errors.
    ///
    /// # Errors
    /// The input cannot be read or is invalid.
    pub fn bytes(&self, index: usize) -> Result<Box<dyn Read + '_>, Complaint> {
        match &self.source {
            Source::Arrays(arrays) => arrays.read(index),
            Source::Model(model) => match self.arrays.get(index).and_then(|array| model.find(&array.name)) {
                Some(tensor) => Ok(Box::new(Bytes { reader: tensor.reader(), at: 0 })),
                None => Ok(Box::new(io::empty())),
            },
        }
    }

    /// The error for a failed read.
    pub fn complaint(&self, error: io::Error) -> Complaint {
        match &self.source {
            Source::Model(model) => Complaint::not_read(model.path(), error),
            Source::Arrays(arrays) => arrays.complaint(error),
        }
    }
}

/// The bytes of an array, chunk by chunk.
pub struct Chunks<'i> {
    input: &'i Input,
    source: Box<dyn Read + 'i>,
}

impl Chunks<'_> {
    /// Makes `bytes` the next bytes, complete elements. Returns false at the end.
    ///
    /// # Errors
    /// The bytes cannot be read or are invalid; interruption by the user.
    pub fn fill(&mut self, bytes: &mut Vec<u8>, work: &Work) -> Result<bool, Complaint> {
        bytes.resize(CHUNK, 0);
        let len = read_full(&mut *self.source, bytes).map_err(|error| self.input.complaint(error))?;
        bytes.truncate(len);
        work.advance(len as u64)?;
        Ok(len > 0)
    }
}

struct Bytes<'m> {
    reader: TensorReader<'m, Reader<'m>>,
    at: u64,
}

impl Read for Bytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.reader.read_at(self.at, buffer)?;
        self.at += len as u64;
        Ok(len)
    }
}
