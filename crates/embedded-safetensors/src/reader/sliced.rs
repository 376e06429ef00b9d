//! A slice in a file, and how far it has been read.

use super::filling::{Filling, elements_in};
use super::gathering::Gathering;
use super::region::Until;
use super::region::sealed::Region;
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::slice::plan::SlicePlan;
use crate::slice::range::AxisRange;
use crate::slice::walk::{ByteRuns, Walk};
use crate::tensor::span::Span;
use crate::util::bytes::{front, touched_bytes};
use crate::values::convert::{Conversion, Element};

/// A slice of a tensor, and how far it has been read.
///
/// *Memory*: 328 bytes, `Copy`.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Sliced {
    pub(crate) plan: SlicePlan,
    /// The byte of the file at which the tensor begins.
    pub(crate) start: u64,
    pub(crate) walk: Walk,
}

impl Sliced {
    /// # Errors
    /// Those of [`SlicePlan::new`], at the tensor's first byte.
    pub(crate) fn new(tensor: &Span, dims: &[u64], ranges: &[AxisRange]) -> Result<Self, Error> {
        let start = tensor.start();
        match SlicePlan::of_tensor(tensor.dtype(), dims, tensor.len(), ranges) {
            Ok(plan) => Ok(Self { plan, start, walk: plan.walk() }),
            Err(kind) => Err(kind.at(start)),
        }
    }

    /// Returns the same slice from its first element on, counted in values.
    pub(crate) fn values(self) -> Self {
        let plan = self.plan.of_values();
        Self { plan, walk: plan.walk(), ..self }
    }

    /// # Errors
    /// [`ErrorKind::PartOfByte`], at the first byte that the slice covers only in part.
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

    /// Starts to fill a buffer of this length with the next bytes.
    ///
    /// # Errors
    /// [`ErrorKind::PartOfByte`]; [`ErrorKind::BufferLength`] when no element fits.
    pub(crate) fn chunk(&self, capacity: usize) -> Result<Filling, Error> {
        self.byte_len()?;
        let bits = self.plan.bits();
        let most = elements_in(capacity, bits);
        if most == 0 && self.walk.left > 0 {
            let needed = if bits == 6 { 3 } else { touched_bytes(bits.into()) };
            return Err(self.no_room(needed, capacity));
        }
        Ok(Filling::new(self.walk, most))
    }

    /// Starts to fill a buffer of this length with all remaining bytes.
    ///
    /// # Errors
    /// [`ErrorKind::PartOfByte`]; [`ErrorKind::BufferLength`] when they do not fit.
    pub(crate) fn rest(&self, capacity: usize) -> Result<Filling, Error> {
        self.byte_len()?;
        let needed = self.plan.bits_of(self.walk.left) >> 3;
        if needed > capacity as u64 {
            return Err(self.no_room(needed, capacity));
        }
        Ok(Filling::new(self.walk, self.walk.left))
    }

    /// Returns the part of the buffer that has been filled.
    pub(crate) fn filled<'b>(&self, filling: &Filling, buffer: &'b mut [u8]) -> &'b [u8] {
        front(buffer, self.plan.bits_of(filling.filled) >> 3)
    }

    fn no_room(&self, needed: u64, capacity: usize) -> Error {
        let capacity = capacity as u64;
        ErrorKind::BufferLength { needed, capacity }.at(self.offset().saturating_add(capacity))
    }

    /// Returns the byte of the file at which this many elements of the tensor end.
    const fn after(&self, elements: u64) -> u64 {
        self.start + (self.plan.bits_of(elements) >> 3)
    }
}

impl Region for Sliced {
    type Filling<'b, T: Element> = Gathering<'b, T>;

    fn dtype(&self) -> Dtype {
        self.plan.dtype()
    }

    fn count(&self) -> u64 {
        self.plan.elements()
    }

    fn remaining(&self) -> u64 {
        self.walk.left
    }

    fn start(&self) -> u64 {
        self.start
    }

    fn offset(&self) -> u64 {
        self.after(self.walk.at)
    }

    fn end(&self) -> u64 {
        self.after(self.plan.end())
    }

    /// Returns all values: the part that is not filled yet has space for the gaps between runs.
    fn room<'b, T>(&self, values: &'b mut [T]) -> &'b mut [T] {
        values
    }

    fn fill<'b, T: Element>(
        &self,
        conversion: Conversion<T>,
        values: &'b mut [T],
        until: Until,
    ) -> Gathering<'b, T> {
        Gathering::new(self.walk, conversion, values, until)
    }
}
