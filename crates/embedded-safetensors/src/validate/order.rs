//! The proof that tensors and data cover each other exactly: no hole, no overlap.
//!
//! Where the header lists its tensors in the order of their offsets, as every file of the reference
//! does, each tensor must begin where the one before it ended: one pass, no memory, and the first that
//! does not is the fault. Otherwise every further pass over the header collects as many of the following
//! tensors, in the order of `(begin, end, position)`, as there are slots, and walks along them. Nothing
//! is summed or hashed: a sum cannot see an empty tensor inside another one.

use crate::error::{Error, ErrorKind};
use crate::tensor::info::Extent;
use crate::util::bytes::low_u32;
use crate::util::top_k::{Smallest, SortSlot};

/// Tensors are sorted by this.
#[derive(Clone, Copy)]
struct Place {
    begin: u64,
    end: u64,
}

impl Place {
    /// No tensor's place, for it ends before it begins.
    const NONE: Self = Self { begin: 1, end: 0 };

    const fn is_none(self) -> bool {
        self.end < self.begin
    }

    const fn is_below(self, other: Self) -> bool {
        self.begin < other.begin || (self.begin == other.begin && self.end < other.end)
    }
}

/// The first pass: enough for a header in the order of its offsets, and knows whether it is one.
pub(crate) struct InOrder {
    /// The tensors lie end to end up to here.
    end: u64,
    /// The tensor before, in the header's order; none once that is not the order of the offsets.
    last: Place,
    /// Where the first tensor begins that does not begin at `end`.
    misfit: u64,
    /// Where in the header that stands; 0 while there is none.
    misfit_at: u32,
    tensors: u32,
}

impl InOrder {
    pub(crate) const fn new() -> Self {
        let last = Place { begin: 0, end: 0 };
        Self { end: 0, last, misfit: 0, misfit_at: 0, tensors: 0 }
    }

    /// How many tensors the header has.
    pub(crate) const fn tensors(&self) -> u64 {
        self.tensors as u64
    }

    /// Where the last tensor ends, once the pass has proven them all.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// Takes the next tensor of the header.
    pub(crate) const fn see(&mut self, tensor: Extent) {
        let Extent { begin, end, begin_at } = tensor;
        let place = Place { begin, end };
        self.tensors += 1;
        if begin == self.end && self.misfit_at == 0 {
            (self.end, self.last) = (end, place);
            return;
        }
        let in_order = !self.last.is_none() && !place.is_below(self.last);
        self.last = if in_order { place } else { Place::NONE };
        if self.misfit_at == 0 {
            (self.misfit, self.misfit_at) = (begin, begin_at);
        }
    }

    /// Whether the tensors lie end to end.
    pub(crate) const fn is_proven(&self) -> bool {
        self.misfit_at == 0
    }

    /// Whether the pass cannot tell if the tensors lie end to end.
    pub(crate) const fn needs_sorting(&self) -> bool {
        self.misfit_at != 0 && self.last.is_none()
    }

    /// Draws the conclusion of the pass.
    ///
    /// # Errors
    /// [`ErrorKind::Hole`] or [`ErrorKind::Overlap`]; [`ErrorKind::OutOfOrder`] when only sorting can tell.
    pub(crate) const fn conclude(&self) -> Result<(), Error> {
        if self.is_proven() { Ok(()) } else { Err(self.error()) }
    }

    /// Why they do not, or why that is not known.
    pub(crate) const fn error(&self) -> Error {
        let kind = if self.last.is_none() { ErrorKind::OutOfOrder } else { misfit(self.misfit, self.end) };
        kind.at(self.misfit_at as u64)
    }
}

/// What a pass that sorts came to.
pub(crate) enum Sorted {
    /// Feed the header once more.
    InPart,
    /// As much as is needed to tell whether the tensors lie end to end.
    Enough,
    /// The header is not the one of the first pass.
    Changed,
}

/// The passes after the first one, for a header in any order.
pub(crate) struct Sorting<'s> {
    following: Smallest<'s>,
    /// The tensors up to here are proven.
    end: u64,
    /// Where the first tensor begins that does not begin at `end`.
    misfit: u64,
    /// Where in the header that stands; 0 while there is none.
    misfit_at: u32,
    proven: u32,
    begun: bool,
}

impl<'s> Sorting<'s> {
    pub(crate) const fn new(slots: &'s mut [SortSlot]) -> Self {
        let following = Smallest::new(slots);
        Self { following, end: 0, misfit: 0, misfit_at: 0, proven: 0, begun: false }
    }

    /// `false`: there is no memory to sort in.
    pub(crate) const fn begin(&mut self) -> bool {
        self.begun = self.following.capacity() > 0;
        self.begun
    }

    /// Whether the header has been seen whole before.
    pub(crate) const fn has_begun(&self) -> bool {
        self.begun
    }

    /// Where the last proven tensor ends.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// Takes the next tensor of the header.
    pub(crate) const fn see(&mut self, tensor: Extent) {
        let Extent { begin, end, begin_at } = tensor;
        self.following.offer(&SortSlot { key: begin, tie: end, at: begin_at as u64 });
    }

    /// Ends a pass over a header that had this many tensors in the first one.
    pub(crate) const fn end_pass(&mut self, tensors: u64) -> Sorted {
        let more = self.following.overflowed();
        self.walk();
        // Every pass proves at least one tensor, so a header that stays the same comes to an end.
        let proven = self.proven as u64;
        match (more, proven < tensors) {
            _ if self.misfit_at != 0 => Sorted::Enough,
            (true, true) => Sorted::InPart,
            (false, false) if proven == tensors => Sorted::Enough,
            _ => Sorted::Changed,
        }
    }

    /// Whether the tensors lie end to end.
    pub(crate) const fn is_proven(&self) -> bool {
        self.misfit_at == 0
    }

    /// Why they do not.
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

    /// Each tensor begins where the one before it ended, the first one at 0.
    const fn append(&mut self, tensor: SortSlot) {
        if tensor.key == self.end {
            self.end = tensor.tie;
            self.proven += 1;
        } else {
            self.misfit = tensor.key;
            self.misfit_at = low_u32(tensor.at);
        }
    }
}

/// What is wrong with a tensor that does not begin where the one before it ends.
const fn misfit(begin: u64, previous_end: u64) -> ErrorKind {
    if begin > previous_end {
        ErrorKind::Hole { begin, previous_end }
    } else {
        ErrorKind::Overlap { begin, previous_end }
    }
}
