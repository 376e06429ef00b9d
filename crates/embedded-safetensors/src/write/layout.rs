//! Where each tensor of a plan lies.

use super::order::{Order, place};
use super::spec::{FileSpec, Placement, TensorSpec};
use crate::dtype::Dtype;

/// A tensor of a [`FilePlan`](crate::write::FilePlan): one of the caller's, or one of padding.
///
/// *Memory*: 32 bytes, 24 where pointers have 32 bits; `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PlannedTensor<'a> {
    /// What it is.
    pub content: PlannedContent<'a>,
    /// Its first byte, counted from the start of the data.
    pub begin: u64,
    /// The first byte behind it, counted from the start of the data.
    pub end: u64,
}

/// What a tensor of a plan is.
///
/// *Memory*: 16 bytes, 8 where pointers have 32 bits; `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum PlannedContent<'a> {
    /// One of the tensors that were described.
    Tensor {
        /// Where in the array of the [`FileSpec`](crate::write::FileSpec).
        index: usize,
        /// What stands there.
        spec: &'a TensorSpec<'a>,
    },
    /// Zeros of U8, so that the tensor behind it begins where it must ([`Placement::Padded`]).
    Padding {
        /// How many others there are before it; the number in its name.
        number: u32,
    },
}

impl PlannedTensor<'_> {
    /// The type of the elements.
    pub const fn dtype(&self) -> Dtype {
        match self.content {
            PlannedContent::Tensor { spec, .. } => spec.dtype(),
            PlannedContent::Padding { .. } => Dtype::U8,
        }
    }

    /// Length in bytes.
    pub const fn byte_len(&self) -> u64 {
        self.end.saturating_sub(self.begin)
    }
}

/// The tensors of a plan, in the order in which they lie in the file.
///
/// *Memory*: 64 bytes, 40 where pointers have 32 bits; `Copy`.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PlannedTensors<'a> {
    tensors: &'a [TensorSpec<'a>],
    order: &'a [u32],
    /// At multiples of this every tensor begins; 1 where it does not matter.
    unit: u64,
    /// How many of the caller's are done.
    position: usize,
    /// Where the last one ends.
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

    /// Where in the description the tensor of this name stands, if it has no bytes.
    pub(super) fn find_empty(&self, name: &str) -> Option<usize> {
        self.tensors.iter().position(|tensor| tensor.name() == name && tensor.byte_len() == Ok(0))
    }

    /// Where the last one ends that was given.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// Zeros in front of the next one.
    #[cold]
    fn padding(&mut self, len: u64) -> PlannedTensor<'a> {
        let (begin, number) = (self.end, self.paddings);
        self.end = begin.saturating_add(len);
        self.paddings = self.paddings.wrapping_add(1); // there are fewer bytes in a header
        PlannedTensor { content: PlannedContent::Padding { number }, begin, end: self.end }
    }
}

impl<'a> Iterator for PlannedTensors<'a> {
    type Item = PlannedTensor<'a>;

    #[inline]
    fn next(&mut self) -> Option<PlannedTensor<'a>> {
        let index = place(self.order, self.position);
        let spec = self.tensors.get(index)?;
        let over = self.end & (self.unit - 1);
        if over > 0 {
            return Some(self.padding(self.unit - over));
        }
        let begin = self.end;
        // Where an end does not fit, there will be no plan.
        self.end = begin.saturating_add(spec.byte_len().unwrap_or(0));
        self.position = self.position.wrapping_add(1); // below the number of tensors
        Some(PlannedTensor { content: PlannedContent::Tensor { index, spec }, begin, end: self.end })
    }
}
