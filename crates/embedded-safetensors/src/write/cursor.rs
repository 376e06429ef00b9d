//! Tracks which tensor's bytes are expected next, and how many.

use super::layout::{PlannedContent, PlannedTensors};
use super::plan::FilePlan;
use super::spec::TensorSpec;
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::util::bytes::index_below;

/// The tensor whose bytes are expected next.
///
/// *Memory*: 32 bytes, 24 where pointers have 32 bits; `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NextTensor<'a> {
    /// The index in the array of the [`FileSpec`](crate::write::FileSpec).
    pub index: usize,
    /// The description at this index.
    pub tensor: &'a TensorSpec<'a>,
    /// The number of its bytes already written.
    pub position: u64,
    /// The number of its bytes that remain.
    pub remaining: u64,
}

/// The position in the data of a file that is being written.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Cursor<'a> {
    rest: PlannedTensors<'a>,
    /// The next tensor that has bytes left.
    next: Option<NextTensor<'a>>,
    /// Bytes of padding before the next tensor.
    zeros: u64,
    /// The offset in the file of the next byte.
    position: u64,
    end: u64,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(plan: &FilePlan<'a>) -> Self {
        let (position, end) = (plan.data_start(), plan.file_len());
        let mut cursor = Self { rest: plan.tensors(), next: None, zeros: 0, position, end };
        cursor.advance();
        cursor
    }

    /// Returns the tensor whose bytes are expected next, which is never an empty one.
    pub(crate) const fn next_tensor(&self) -> Option<NextTensor<'a>> {
        self.next
    }

    pub(crate) const fn position(&self) -> u64 {
        self.position
    }

    /// Returns the number of bytes of padding before the next tensor.
    pub(crate) const fn zeros(&self) -> u64 {
        self.zeros
    }

    /// Counts written bytes of padding.
    pub(crate) fn count_zeros(&mut self, bytes: usize) {
        self.zeros = self.zeros.saturating_sub(bytes as u64);
        self.position = self.position.saturating_add(bytes as u64);
    }

    /// Counts written bytes of the next tensor.
    pub(crate) fn count_bytes(&mut self, bytes: usize) {
        let Some(next) = &mut self.next else { return };
        next.position = next.position.saturating_add(bytes as u64);
        next.remaining = next.remaining.saturating_sub(bytes as u64);
        self.position = self.position.saturating_add(bytes as u64);
        if next.remaining == 0 {
            self.advance();
        }
    }

    /// Checks that this many bytes can be written next.
    ///
    /// # Errors
    /// [`ErrorKind::TooManyBytes`], [`ErrorKind::AllWritten`].
    pub(crate) fn check_bytes(&self, bytes: usize) -> Result<(), Error> {
        match self.next {
            Some(next) => self.check_remaining(&next, bytes),
            None if bytes > 0 => Err(self.error(ErrorKind::AllWritten)),
            None => Ok(()),
        }
    }

    /// Checks that this many bytes, of elements of this dtype, can be written next.
    ///
    /// # Errors
    /// [`ErrorKind::ValueType`]; as [`check_bytes`](Self::check_bytes).
    pub(crate) fn check_values(&self, given: Dtype, bytes: usize) -> Result<(), Error> {
        match self.next {
            Some(next) if next.tensor.dtype() != given && bytes > 0 => {
                let (tensor, needed) = (number(next.index), next.tensor.dtype());
                Err(self.error(ErrorKind::ValueType { tensor, given, needed }))
            }
            _ => self.check_bytes(bytes),
        }
    }

    /// Checks that the tensor of this name has this many bytes, and is next with all of them. An empty tensor
    /// always is.
    ///
    /// # Errors
    /// [`ErrorKind::WrongTensor`], [`ErrorKind::TensorLength`], [`ErrorKind::TooManyBytes`],
    /// [`ErrorKind::AllWritten`].
    pub(crate) fn check_tensor(&self, name: &str, bytes: usize) -> Result<(), Error> {
        let next = self.next.filter(|next| next.tensor.name() == name);
        let (index, needed) = match next {
            Some(next) => (next.index, next.position + next.remaining),
            None => (self.rest.find_empty(name).ok_or_else(|| self.unexpected_tensor())?, 0),
        };
        let (tensor, given) = (number(index), bytes as u64);
        if given != needed {
            return Err(self.error(ErrorKind::TensorLength { tensor, given, needed }));
        }
        next.map_or(Ok(()), |next| self.check_remaining(&next, bytes))
    }

    fn unexpected_tensor(&self) -> Error {
        let kind = match self.next {
            Some(next) => ErrorKind::WrongTensor { tensor: number(next.index) },
            None => ErrorKind::AllWritten,
        };
        self.error(kind)
    }

    fn check_remaining(&self, next: &NextTensor<'_>, bytes: usize) -> Result<(), Error> {
        let (tensor, given, left) = (number(next.index), bytes as u64, next.remaining);
        match given > left {
            true => Err(self.error(ErrorKind::TooManyBytes { tensor, given, left })),
            false => Ok(()),
        }
    }

    /// Checks that all bytes are written.
    ///
    /// # Errors
    /// [`ErrorKind::Incomplete`].
    pub(crate) fn finish(&self) -> Result<(), Error> {
        let Some(next) = self.next else { return Ok(()) };
        let (tensor, missing) = (number(next.index), self.end.saturating_sub(self.position));
        Err(self.error(ErrorKind::Incomplete { tensor, missing }))
    }

    fn advance(&mut self) {
        self.next = None;
        for planned in self.rest.by_ref() {
            let remaining = planned.byte_len();
            match planned.content {
                PlannedContent::Tensor { .. } if remaining == 0 => {}
                PlannedContent::Tensor { index, spec } => {
                    self.next = Some(NextTensor { index, tensor: spec, position: 0, remaining });
                    return;
                }
                PlannedContent::Padding { .. } => self.zeros = self.zeros.saturating_add(remaining),
            }
        }
    }

    fn error(&self, kind: ErrorKind) -> Error {
        kind.at(self.position)
    }
}

/// Padding between tensors.
const ZEROS: [u8; 64] = [0; 64];

/// Returns `len` zeros, or as many as there are.
pub(crate) fn front_of_zeros(len: u64) -> &'static [u8] {
    index_below(len, ZEROS.len()).and_then(|len| ZEROS.get(..len)).unwrap_or(&ZEROS)
}

/// Returns the number of a tensor in an error. A header has fewer than 2^32 tensors.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
