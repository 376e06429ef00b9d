//! The position of each tensor of a plan.

use super::order::{Order, index_at};
use super::spec::{FileSpec, Placement, TensorSpec};
use crate::dtype::Dtype;

/// A tensor of a [`FilePlan`](crate::write::FilePlan): one of the caller's, or padding.
///
/// *Memory*: 32 bytes, 24 where pointers have 32 bits; `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PlannedTensor<'a> {
    /// The kind of tensor.
    pub content: PlannedContent<'a>,
    /// Its first byte, counted from the start of the data.
    pub begin: u64,
    /// The first byte after it, counted from the start of the data.
    pub end: u64,
}

/// The kind of a tensor of a plan.
///
/// *Memory*: 16 bytes, 8 where pointers have 32 bits; `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum PlannedContent<'a> {
    /// A tensor of the caller's description.
    Tensor {
        /// The index in the array of the [`FileSpec`](crate::write::FileSpec).
        index: usize,
        /// The description at this index.
        spec: &'a TensorSpec<'a>,
    },
    /// Zeros of U8 that align the tensor after it ([`Placement::Padded`]).
    Padding {
        /// The number of paddings before it, which is the number in its name.
        number: u32,
    },
}

impl PlannedTensor<'_> {
    /// Returns the type of the elements.
    pub const fn dtype(&self) -> Dtype {
        match self.content {
            PlannedContent::Tensor { spec, .. } => spec.dtype(),
            PlannedContent::Padding { .. } => Dtype::U8,
        }
    }

    /// Returns the length in bytes.
    pub const fn byte_len(&self) -> u64 {
        self.end.saturating_sub(self.begin)
    }
}

/// An iterator over the tensors of a plan, in the order of the file.
///
/// *Memory*: 64 bytes, 40 where pointers have 32 bits; `Copy`.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PlannedTensors<'a> {
    tensors: &'a [TensorSpec<'a>],
    order: &'a [u32],
    /// The alignment of every tensor; 1 for none.
    unit: u64,
    /// The number of the caller's tensors already returned.
    position: usize,
    /// The end of the last tensor returned.
    end: u64,
    paddings: u32,
}

impl<'a> PlannedTensors<'a> {
    #[inline]
    pub(super) fn new(spec: &FileSpec<'a>, order: Order<'a>) -> Self {
        let unit = match spec.placement {
            Placement::Padded(unit) => unit.into(),
            Placement::Start(_) | Placement::BySize(_) => 1,
        };
        Self { tensors: spec.tensors, order: order.tensors, unit, position: 0, end: 0, paddings: 0 }
    }

    /// Returns the index in the description of the tensor of this name, if the tensor has no bytes.
    pub(super) fn find_empty(&self, name: &str) -> Option<usize> {
        self.tensors.iter().position(|tensor| tensor.name() == name && tensor.byte_len() == Ok(0))
    }

    /// Returns the end of the last tensor returned.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// Returns zeros before the next tensor.
    #[cold]
    fn padding(&mut self, len: u64) -> PlannedTensor<'a> {
        let (begin, number) = (self.end, self.paddings);
        self.end = begin.saturating_add(len);
        self.paddings = self.paddings.wrapping_add(1); // cannot wrap: a header has fewer bytes
        PlannedTensor { content: PlannedContent::Padding { number }, begin, end: self.end }
    }
}

impl<'a> Iterator for PlannedTensors<'a> {
    type Item = PlannedTensor<'a>;

    #[inline]
    fn next(&mut self) -> Option<PlannedTensor<'a>> {
        let index = index_at(self.order, self.position);
        let spec = self.tensors.get(index)?;
        let over = self.end & (self.unit - 1);
        if over > 0 {
            return Some(self.padding(self.unit - over));
        }
        let begin = self.end;
        // If an end does not fit, creating the plan fails.
        self.end = begin.saturating_add(spec.byte_len().unwrap_or(0));
        self.position = self.position.wrapping_add(1); // cannot wrap: at most the number of tensors
        Some(PlannedTensor { content: PlannedContent::Tensor { index, spec }, begin, end: self.end })
    }
}
