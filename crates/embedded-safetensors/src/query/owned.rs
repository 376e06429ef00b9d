//! Tensors that own their names, in memory of a fixed size.

use crate::error::{Error, ErrorKind, IndexPart};
use crate::header::Entry;
use crate::tensor::info::TensorInfo;
use crate::tensor::span::{Located, Location};
use heapless::{String, Vec};

/// A tensor with its name, of at most `NAME` bytes.
///
/// *Memory*: 104 bytes and the name.
#[derive(Clone, Debug)]
pub struct NamedTensor<const NAME: usize> {
    name: String<NAME>,
    info: TensorInfo,
}

impl<const NAME: usize> NamedTensor<NAME> {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns dtype, shape and range.
    pub const fn info(&self) -> &TensorInfo {
        &self.info
    }
}

impl<const NAME: usize> Located for NamedTensor<NAME> {
    fn locate(&self) -> Result<Location, Error> {
        self.info.locate()
    }

    fn dims(&self) -> &[u64] {
        self.info.shape().dims()
    }
}

#[cfg(feature = "defmt")]
impl<const NAME: usize> defmt::Format for NamedTensor<NAME> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "NamedTensor {{ name: {=str}, info: {} }}", self.name(), self.info);
    }
}

/// Appends the tensor of an entry while there is space. The name fits: it was read through a buffer of `NAME`
/// bytes.
pub(crate) fn append<const NAME: usize, const TENSORS: usize>(
    tensors: &mut Vec<NamedTensor<NAME>, TENSORS>,
    entry: &Entry<'_>,
) {
    if let Ok(name) = String::try_from(entry.name()) {
        // The caller counts the tensors.
        drop(tensors.push(NamedTensor { name, info: entry.info }));
    }
}

/// Returns the error for a list that has too little space for this many tensors.
pub(crate) fn too_many(tensors: u64, capacity: usize, at: u64) -> Error {
    ErrorKind::Index { part: IndexPart::Tensors, needed: tensors, capacity: capacity as u64 }.at(at)
}

/// Returns the text in the first `len` bytes, which a parser has validated.
pub(crate) fn string<const N: usize>(mut bytes: Vec<u8, N>, len: usize) -> String<N> {
    bytes.truncate(len);
    String::from_utf8(bytes).unwrap_or_default()
}
