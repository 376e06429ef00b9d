//! Validates that the tensors cover the data exactly: no hole, no overlap.
//!
//! If the header lists its tensors in the order of their offsets, as every file of the reference does, each
//! tensor must begin where the one before it ended. This takes one pass and no memory, and the first tensor
//! that does not is the error. Otherwise every further pass over the header collects as many of the following
//! tensors, in the order of `(begin, end, position)`, as there are slots, and compares each with the one
//! before it. Nothing is summed or hashed: a sum cannot detect an empty tensor inside another one.

#[cfg(test)]
#[path = "proof.rs"]
mod proof;

use crate::error::{Error, ErrorKind};
use crate::tensor::info::Extent;
use crate::util::bytes::low_u32;
use crate::util::top_k::{Smallest, SortSlot};

/// The first pass. It is enough for a header in the order of its offsets, and detects any other.
pub(crate) struct InOrder {
    /// The tensors are contiguous up to here.
    end: u64,
    /// The range of the previous tensor in the header.
    last: (u64, u64),
    /// Where the first tensor begins that does not begin at `end`; `end` itself once the header is not in the
    /// order of the offsets.
    misfit: u64,
    /// Where in the header that offset is; 0 while there is none.
    misfit_at: u32,
    tensors: u32,
}

impl InOrder {
    pub(crate) const fn new() -> Self {
        Self { end: 0, last: (0, 0), misfit: 0, misfit_at: 0, tensors: 0 }
    }

    /// Returns how many tensors the header has.
    pub(crate) const fn tensors(&self) -> u64 {
        self.tensors as u64
    }

    /// Returns where the last tensor ends, once the pass has validated them all.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// Takes the next tensor of the header.
    pub(crate) const fn see(&mut self, tensor: Extent) {
        let Extent { begin, end, begin_at } = tensor;
        let is_below_last = sort_key((begin, end)) < sort_key(self.last);
        self.last = (begin, end);
        self.tensors += 1;
        if self.misfit_at == 0 {
            if begin == self.end {
                self.end = end;
                return;
            }
            (self.misfit, self.misfit_at) = (begin, begin_at);
        }
        if is_below_last {
            self.misfit = self.end;
        }
    }

    /// Whether the tensors are contiguous.
    pub(crate) const fn is_contiguous(&self) -> bool {
        self.misfit_at == 0
    }

    /// Whether the pass cannot decide if the tensors are contiguous.
    pub(crate) const fn needs_sorting(&self) -> bool {
        self.misfit_at != 0 && self.misfit == self.end
    }

    /// Returns the result of the pass.
    ///
    /// # Errors
    /// [`ErrorKind::Hole`] or [`ErrorKind::Overlap`]; [`ErrorKind::OutOfOrder`] when only sorting can decide.
    pub(crate) const fn conclude(&self) -> Result<(), Error> {
        if self.is_contiguous() { Ok(()) } else { Err(self.error()) }
    }

    /// Returns why the tensors are not contiguous, or why that is not known.
    pub(crate) const fn error(&self) -> Error {
        let kind = if self.needs_sorting() { ErrorKind::OutOfOrder } else { misfit(self.misfit, self.end) };
        kind.at(self.misfit_at as u64)
    }
}

/// Returns a number by which ranges are in the order of their begins, and of their ends if they begin at the
/// same byte.
const fn sort_key((begin, end): (u64, u64)) -> u128 {
    ((begin as u128) << 64) | end as u128
}

/// The result of a sorting pass.
pub(crate) enum Sorted {
    /// Undecided: feed the header once more.
    NeedPass,
    /// Whether the tensors are contiguous is decided.
    Decided,
    /// The header is not the one of the first pass.
    Changed,
}

/// The passes after the first one, for a header in any order.
pub(crate) struct Sorting<'s> {
    following: Smallest<'s>,
    /// The tensors up to here are validated.
    end: u64,
    /// Where the first tensor begins that does not begin at `end`.
    misfit: u64,
    /// Where in the header that offset is; 0 while there is none.
    misfit_at: u32,
    validated: u32,
    begun: bool,
}

impl<'s> Sorting<'s> {
    pub(crate) const fn new(slots: &'s mut [SortSlot]) -> Self {
        let following = Smallest::new(slots);
        Self { following, end: 0, misfit: 0, misfit_at: 0, validated: 0, begun: false }
    }

    /// Begins to sort. Returns `false` if there are no slots.
    pub(crate) const fn begin(&mut self) -> bool {
        self.begun = self.following.capacity() > 0;
        self.begun
    }

    /// Whether an earlier pass has read the entire header.
    pub(crate) const fn has_begun(&self) -> bool {
        self.begun
    }

    /// Returns where the last validated tensor ends.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// Takes the next tensor of the header.
    pub(crate) const fn see(&mut self, tensor: Extent) {
        let Extent { begin, end, begin_at } = tensor;
        self.following.offer(&SortSlot { key: begin, tie: end, at: begin_at as u64 });
    }

    /// Ends a pass over a header that had this many tensors in the first pass.
    pub(crate) const fn end_pass(&mut self, tensors: u64) -> Sorted {
        let more = self.following.overflowed();
        self.walk();
        // Every pass validates at least one tensor, so the passes over an unchanged header come to an end.
        let validated = self.validated as u64;
        match (more, validated < tensors) {
            _ if self.misfit_at != 0 => Sorted::Decided,
            (true, true) => Sorted::NeedPass,
            (false, false) if validated == tensors => Sorted::Decided,
            _ => Sorted::Changed,
        }
    }

    /// Whether the tensors are contiguous.
    pub(crate) const fn is_contiguous(&self) -> bool {
        self.misfit_at == 0
    }

    /// Returns why the tensors are not contiguous.
    pub(crate) const fn error(&self) -> Error {
        misfit(self.misfit, self.end).at(self.misfit_at as u64)
    }

    const fn walk(&mut self) {
        self.following.sort();
        let mut floor = SortSlot::EMPTY;
        let mut index = 0;
        while let Some(tensor) = self.following.get(index) {
            self.append(tensor);
            if self.misfit_at != 0 {
                return;
            }
            floor = SortSlot { at: tensor.at + 1, ..tensor };
            index += 1;
        }
        self.following.restart(floor);
    }

    /// Appends a tensor, which must begin where the one before it ended, the first one at 0.
    const fn append(&mut self, tensor: SortSlot) {
        if tensor.key == self.end {
            self.end = tensor.tie;
            self.validated += 1;
        } else {
            self.misfit = tensor.key;
            self.misfit_at = low_u32(tensor.at);
        }
    }
}

/// Returns the error for a tensor that does not begin where the one before it ends.
const fn misfit(begin: u64, previous_end: u64) -> ErrorKind {
    if begin > previous_end {
        ErrorKind::Hole { begin, previous_end }
    } else {
        ErrorKind::Overlap { begin, previous_end }
    }
}
