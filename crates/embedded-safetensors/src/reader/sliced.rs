//! A slice in a file, and how far it has been read.

use super::filling::{Filling, elements_in};
use crate::error::{Error, ErrorKind};
use crate::slice::plan::SlicePlan;
use crate::slice::range::AxisRange;
use crate::slice::walk::{ByteRuns, Walk};
use crate::tensor::span::Span;
use crate::util::bytes::{front, touched_bytes};

/// What blocking and asynchronous readers of slices share.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Place {
    pub(crate) plan: SlicePlan,
    /// Where in the file the tensor begins.
    pub(crate) start: u64,
    pub(crate) walk: Walk,
}

impl Place {
    /// # Errors
    /// Those of [`SlicePlan::new`], at the tensor's first byte.
    pub(crate) fn new(tensor: &Span, dims: &[u64], ranges: &[AxisRange]) -> Result<Self, Error> {
        let start = tensor.start();
        match SlicePlan::of_tensor(tensor.dtype(), dims, tensor.len(), ranges) {
            Ok(plan) => Ok(Self { plan, start, walk: plan.walk() }),
            Err(kind) => Err(kind.at(start)),
        }
    }

    /// # Errors
    /// [`ErrorKind::PartOfByte`], at the first byte that the slice has only a part of.
    pub(crate) const fn byte_len(&self) -> Result<u64, Error> {
        match (self.plan.byte_len(), self.plan.broken_byte()) {
            (Ok(len), _) => Ok(len),
            (Err(kind), Some(byte)) => Err(kind.at(self.start + byte)),
            (Err(kind), None) => Err(kind.at(self.start)),
        }
    }

    /// # Errors
    /// As [`byte_len`](Self::byte_len).
    pub(crate) fn byte_runs(&self) -> Result<ByteRuns, Error> {
        self.byte_len()?;
        self.plan.byte_runs().map_err(|kind| kind.at(self.start))
    }

    /// Bytes for a buffer of this length.
    ///
    /// # Errors
    /// [`ErrorKind::PartOfByte`]; [`ErrorKind::BufferLength`] when there is no room for an element.
    pub(crate) fn chunk(&self, capacity: usize) -> Result<Filling, Error> {
        self.left_in_bytes()?;
        let bits = self.plan.dtype().bits();
        let most = elements_in(capacity, bits);
        if most == 0 && self.walk.left > 0 {
            let needed = if bits == 6 { 3 } else { touched_bytes(bits.into()) };
            return Err(self.no_room(needed, capacity));
        }
        Ok(Filling::new(self.walk, most))
    }

    /// All bytes that are left, for a buffer of this length.
    ///
    /// # Errors
    /// [`ErrorKind::PartOfByte`]; [`ErrorKind::BufferLength`] when they do not fit.
    pub(crate) fn rest(&self, capacity: usize) -> Result<Filling, Error> {
        let needed = self.left_in_bytes()?;
        if needed > capacity as u64 {
            return Err(self.no_room(needed, capacity));
        }
        Ok(Filling::new(self.walk, self.walk.left))
    }

    /// The part of the buffer that has been filled.
    pub(crate) fn filled<'b>(&self, filling: &Filling, buffer: &'b mut [u8]) -> &'b [u8] {
        front(buffer, self.plan.bits_of(filling.filled) >> 3)
    }

    fn left_in_bytes(&self) -> Result<u64, Error> {
        self.byte_len()?;
        let at = self.plan.bits_of(self.walk.at);
        if at & 7 != 0 {
            let kind = ErrorKind::PartOfByte { bits: self.plan.dtype().bits() };
            return Err(kind.at(self.start + (at >> 3)));
        }
        Ok(self.plan.bits_of(self.walk.left) >> 3)
    }

    pub(crate) fn no_room(&self, needed: u64, capacity: usize) -> Error {
        let capacity = capacity as u64;
        let at = self.start + (self.plan.bits_of(self.walk.at) >> 3);
        ErrorKind::BufferLength { needed, capacity }.at(at.saturating_add(capacity))
    }
}
