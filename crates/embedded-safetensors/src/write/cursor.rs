//! Which tensor's bytes come next, and how many: what all that write data share.

use super::layout::{PlannedContent, PlannedTensors};
use super::plan::FilePlan;
use super::spec::TensorSpec;
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::util::bytes::index_below;

/// The tensor whose bytes come next.
///
/// *Memory*: 32 bytes, 24 where pointers have 32 bits; `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NextTensor<'a> {
    /// Where in the array of the [`FileSpec`](crate::write::FileSpec).
    pub index: usize,
    /// What stands there.
    pub tensor: &'a TensorSpec<'a>,
    /// How many of its bytes are written.
    pub position: u64,
    /// How many of its bytes are still to come.
    pub remaining: u64,
}

/// How far the data of a file are written.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Cursor<'a> {
    behind: PlannedTensors<'a>,
    /// The next tensor that has bytes, and not all of them yet.
    due: Option<NextTensor<'a>>,
    /// Bytes of padding before the tensor that is due.
    zeros: u64,
    /// Of the file: the byte that comes next.
    position: u64,
    end: u64,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(plan: &FilePlan<'a>) -> Self {
        let (position, end) = (plan.data_start(), plan.file_len());
        let mut cursor = Self { behind: plan.tensors(), due: None, zeros: 0, position, end };
        cursor.turn_to_next();
        cursor
    }

    /// The tensor whose bytes come next: none that has no bytes.
    pub(crate) const fn due(&self) -> Option<NextTensor<'a>> {
        self.due
    }

    pub(crate) const fn position(&self) -> u64 {
        self.position
    }

    /// How many bytes of padding come next.
    pub(crate) const fn zeros(&self) -> u64 {
        self.zeros
    }

    /// So many of them are written.
    pub(crate) fn pass_zeros(&mut self, bytes: usize) {
        self.zeros = self.zeros.saturating_sub(bytes as u64);
        self.position = self.position.saturating_add(bytes as u64);
    }

    /// So many bytes of the tensor that is due are written.
    pub(crate) fn pass(&mut self, bytes: usize) {
        let Some(due) = &mut self.due else { return };
        due.position = due.position.saturating_add(bytes as u64);
        due.remaining = due.remaining.saturating_sub(bytes as u64);
        self.position = self.position.saturating_add(bytes as u64);
        if due.remaining == 0 {
            self.turn_to_next();
        }
    }

    /// Whether the next bytes may be so many.
    ///
    /// # Errors
    /// [`ErrorKind::TooManyBytes`], [`ErrorKind::NothingDue`].
    pub(crate) fn admit(&self, bytes: usize) -> Result<(), Error> {
        match self.due {
            Some(due) => self.check_room(&due, bytes),
            None if bytes > 0 => Err(self.fault(ErrorKind::NothingDue)),
            None => Ok(()),
        }
    }

    /// Whether the next bytes may be so many, of elements of this dtype.
    ///
    /// # Errors
    /// [`ErrorKind::ValueType`]; as [`admit`](Self::admit).
    pub(crate) fn admit_values(&self, given: Dtype, bytes: usize) -> Result<(), Error> {
        match self.due {
            Some(due) if due.tensor.dtype() != given && bytes > 0 => {
                let (tensor, needed) = (number(due.index), due.tensor.dtype());
                Err(self.fault(ErrorKind::ValueType { tensor, given, needed }))
            }
            _ => self.admit(bytes),
        }
    }

    /// Whether the tensor of this name has so many bytes, and is due from its first one on. One without bytes always is.
    ///
    /// # Errors
    /// [`ErrorKind::NotDue`], [`ErrorKind::TensorLength`], [`ErrorKind::TooManyBytes`], [`ErrorKind::NothingDue`].
    pub(crate) fn admit_tensor(&self, name: &str, bytes: usize) -> Result<(), Error> {
        let due = self.due.filter(|due| due.tensor.name() == name);
        let (index, needed) = match due {
            Some(due) => (due.index, due.position + due.remaining),
            None => (self.behind.find_empty(name).ok_or_else(|| self.out_of_turn())?, 0),
        };
        let (tensor, given) = (number(index), bytes as u64);
        if given != needed {
            return Err(self.fault(ErrorKind::TensorLength { tensor, given, needed }));
        }
        due.map_or(Ok(()), |due| self.check_room(&due, bytes))
    }

    fn out_of_turn(&self) -> Error {
        let kind = match self.due {
            Some(due) => ErrorKind::NotDue { tensor: number(due.index) },
            None => ErrorKind::NothingDue,
        };
        self.fault(kind)
    }

    fn check_room(&self, due: &NextTensor<'_>, bytes: usize) -> Result<(), Error> {
        let (tensor, given, left) = (number(due.index), bytes as u64, due.remaining);
        match given > left {
            true => Err(self.fault(ErrorKind::TooManyBytes { tensor, given, left })),
            false => Ok(()),
        }
    }

    /// Whether all bytes are written.
    ///
    /// # Errors
    /// [`ErrorKind::Incomplete`].
    pub(crate) fn finish(&self) -> Result<(), Error> {
        let Some(due) = self.due else { return Ok(()) };
        let (tensor, missing) = (number(due.index), self.end.saturating_sub(self.position));
        Err(self.fault(ErrorKind::Incomplete { tensor, missing }))
    }

    fn turn_to_next(&mut self) {
        self.due = None;
        for planned in self.behind.by_ref() {
            let remaining = planned.byte_len();
            match planned.content {
                PlannedContent::Tensor { .. } if remaining == 0 => {}
                PlannedContent::Tensor { index, spec } => {
                    self.due = Some(NextTensor { index, tensor: spec, position: 0, remaining });
                    return;
                }
                PlannedContent::Padding { .. } => self.zeros = self.zeros.saturating_add(remaining),
            }
        }
    }

    fn fault(&self, kind: ErrorKind) -> Error {
        kind.at(self.position)
    }
}

/// Between tensors that are placed apart.
const ZEROS: [u8; 64] = [0; 64];

/// So many zeros, or as many as there are.
pub(crate) fn front_of_zeros(len: u64) -> &'static [u8] {
    index_below(len, ZEROS.len()).and_then(|len| ZEROS.get(..len)).unwrap_or(&ZEROS)
}

/// Of a tensor, in an error. There are no more in a header.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
