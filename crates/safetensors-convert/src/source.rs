//! A file of any format as a list of tensors.

use crate::error::within;
use crate::text::quoted;
use embedded_safetensors::Dtype;
use embedded_safetensors::write::TensorSpec;
use std::io::{self, Read};

/// A tensor of a file of another format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its name in the output, which no other tensor of the file has.
    pub name: String,
    /// The dtype of each element.
    pub dtype: Dtype,
    /// Its shape.
    pub dims: Vec<u64>,
}

impl Tensor {
    /// Returns the tensor as a writer of safetensors needs it.
    pub fn spec(&self) -> TensorSpec<'_> {
        TensorSpec::new(&self.name, self.dtype, &self.dims)
    }

    /// Returns the length of the elements in bytes. Readers reject tensors whose length does not fit.
    pub fn byte_len(&self) -> u64 {
        byte_len(self.dtype, &self.dims).unwrap_or(u64::MAX)
    }
}

/// Returns the length of a tensor in bytes, whose number of bits fits 64 bits.
pub(crate) fn byte_len(dtype: Dtype, dims: &[u64]) -> Option<u64> {
    let elements = dims.iter().try_fold(1_u64, |product, dim| product.checked_mul(*dim))?;
    Some(elements.checked_mul(u64::from(dtype.bits()))? / 8)
}

/// An open file of another format, converted while it is read.
///
/// Opening a file reads its structure, validates it, and rejects what safetensors cannot hold; it neither
/// executes nor imports anything. Memory: at most 64 MiB, and for each tensor, storage or slice 256 bytes and
/// its name, which readers of ONNX and TFLite have twice, beside 8 bytes for each dim.
///
/// Errors are of the kind [`InvalidData`](io::ErrorKind::InvalidData) if the file is unsound or not allowed,
/// and of the kind [`QuotaExceeded`](io::ErrorKind::QuotaExceeded) if it exceeds a limit of this library;
/// their sentence names the place: the entry, the offset or the tensor. All others come from the system.
pub trait TensorSource {
    /// Returns the tensors in the order of the file.
    fn tensors(&self) -> &[Tensor];

    /// Returns the keys and values for `__metadata__`, without duplicates.
    fn metadata(&self) -> &[(String, String)] {
        &[]
    }

    /// Returns whether the elements of a tensor are bits of a dtype that the file does not name, as numpy
    /// stores dtypes of other packages. The tensor's dtype is the integer of that width then.
    fn is_raw(&self, _index: usize) -> bool {
        false
    }

    /// Returns the type of a tensor in the file, if it is not one of safetensors: that of its blocks.
    fn stored_type(&self, _index: usize) -> Option<&'static str> {
        None
    }

    /// Returns what is left out, because safetensors cannot hold it, and what it is.
    fn left_out(&self) -> &[(String, &'static str)] {
        &[]
    }

    /// Opens the elements of a tensor as safetensors stores them: little-endian, last axis fastest, without
    /// gaps. Several tensors can be open at a time.
    ///
    /// # Errors
    /// As for opening the file; or no tensor has this index. The reader returns such errors, too.
    fn read(&self, index: usize) -> io::Result<Box<dyn Read + Send + '_>>;
}

/// Returns an item of a list by a number of 32 bits.
pub(crate) fn at<T>(items: &[T], number: u32) -> Option<&T> {
    items.get(usize::try_from(number).ok()?)
}

/// Returns an item of a list by a number of 32 bits, to change it.
pub(crate) fn at_mut<T>(items: &mut [T], number: u32) -> Option<&mut T> {
    items.get_mut(usize::try_from(number).ok()?)
}

/// Returns the error of a caller that reads a tensor that the file does not have.
pub(crate) fn no_tensor() -> io::Error {
    io::Error::other("no tensor has this index")
}

/// A stream of pieces that are made one after the other.
struct Pieces<M> {
    make: M,
    piece: Vec<u8>,
    given: usize,
    /// The error with which it ended.
    failed: Option<io::Error>,
}

/// Returns a stream of the pieces that `make` makes: an empty one at the end.
pub(crate) fn pieces(make: impl FnMut(&mut Vec<u8>) -> io::Result<()>) -> impl Read {
    Pieces { make, piece: Vec::new(), given: 0, failed: None }
}

impl<M: FnMut(&mut Vec<u8>) -> io::Result<()>> Read for Pieces<M> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.piece.len() && self.failed.is_none() {
            self.given = 0;
            self.piece.clear();
            self.failed = (self.make)(&mut self.piece).err();
        }
        // What was made until an error is dropped. The error is repeated: the next piece is another one.
        if let Some(error) = &self.failed {
            let same = || io::Error::new(error.kind(), error.to_string());
            return Err(error.raw_os_error().map_or_else(same, io::Error::from_raw_os_error));
        }
        let len = (&self.piece[self.given..]).read(buffer)?;
        self.given += len;
        Ok(len)
    }
}

/// A reader of elements whose errors name the tensor.
pub(crate) struct InTensor<'t, R> {
    pub source: R,
    pub name: &'t str,
}

impl<R: Read> Read for InTensor<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let place = || format!("tensor {}", quoted(self.name));
        self.source.read(buffer).map_err(|error| within(&place(), error))
    }
}
