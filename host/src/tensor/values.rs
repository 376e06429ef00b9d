//! New values for a tensor: a `.npy` array, or a tensor of another model.

use crate::context::Context;
use crate::error::Error;
use crate::input::foreign::{Readable, readable_format};
use crate::input::model::{Model, Part, copy_of};
use crate::input::open::open_file;
use crate::output::overwrite::check_not_in_model;
use embedded_safetensors::{Dtype, FileModel, ReadAt};
use safetensors_convert::TensorSource;
use safetensors_convert::error::within;
use safetensors_convert::numpy::Arrays;
use safetensors_files::NewBytes;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// An open file of values.
pub enum Values {
    Array(PathBuf, Arrays),
    Model(Model),
}

impl Values {
    /// Opens a file of values for `target`.
    ///
    /// # Errors
    /// It is invalid, cannot be read, or is the target itself.
    pub fn open(context: &Context, path: &Path, target: &Path) -> Result<Self, Error> {
        let is_array = |(file, _): &(_, _)| {
            readable_format(file, path).is_ok_and(|format| format == Some(Readable::Array))
        };
        if let Some((file, _)) = open_file(path).ok().filter(is_array) {
            let arrays = Arrays::open_one(file, "").map_err(|error| invalid(path, error))?;
            return Ok(Self::Array(path.into(), arrays));
        }
        let model = Model::open(context, path)?;
        check_not_in_model(&model, target)?;
        Ok(Self::Model(model))
    }

    /// The values for a tensor of this dtype: the array, or the tensor of this name. Those on a server are
    /// buffered, so that the target is not half written while the network stalls.
    ///
    /// # Errors
    /// There is no such tensor; the array cannot be read.
    pub fn new_bytes(&self, context: &Context, name: &str, dtype: Dtype) -> Result<NewBytes<'_>, Error> {
        match self {
            Self::Array(path, arrays) => {
                let (array, bytes) =
                    (&arrays.tensors()[0], arrays.read(0).map_err(|error| invalid(path, error))?);
                // An array of a dtype that numpy does not have names only its width.
                let is_unnamed = arrays.is_raw(0) && array.dtype.bits() == dtype.bits();
                Ok(NewBytes::new(if is_unnamed { dtype } else { array.dtype }, &array.dims, bytes))
            }
            Self::Model(model) => {
                let tensor = model.tensor(name)?;
                let (dtype, dims, rest) = (tensor.dtype(), tensor.dims(), tensor.in_file());
                match tensor.model() {
                    Part::File(file) => Ok(NewBytes::new(dtype, dims, Bytes { file, rest })),
                    part => Ok(NewBytes::new(dtype, dims, copy_of(context, part, rest)?)),
                }
            }
        }
    }
}

fn invalid(path: &Path, error: io::Error) -> Error {
    Error::of_contents(path, Readable::Array.code(), within(Readable::Array.name(), error))
}

/// The bytes of a tensor of a file that must not change meanwhile.
struct Bytes<'m> {
    file: &'m FileModel,
    rest: Range<u64>,
}

impl Read for Bytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.file.check_unchanged()?;
        }
        let len = usize::try_from(self.rest.end - self.rest.start).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.file().read_at(self.rest.start, &mut buffer[..len])?;
        self.rest.start += read as u64;
        Ok(read)
    }
}
