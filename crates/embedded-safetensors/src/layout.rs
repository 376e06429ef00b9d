//! The proof that tensors and data cover each other exactly: no hole, no overlap.
//!
//! Where the header lists its tensors in the order of their offsets, as every file of the reference
//! does, each tensor must begin where the one before it ended: one pass, no memory, and the first that
//! does not is the fault. Otherwise every further pass over the header collects as many of the following
//! tensors, in the order of `(begin, end, position)`, as there are slots, and walks along them. Nothing
//! is summed or hashed: a sum cannot see an empty tensor inside another one.

use crate::error::{Error, ErrorKind};
use crate::info::Extent;
use crate::smallest::{Slot, Smallest};

pub(crate) enum LayoutStep {
    /// Feed the header once more.
    AnotherPass,
    /// The tensors lie end to end.
    Proven,
}

pub(crate) struct Layout<'s> {
    following: Smallest<'s>,
    /// The tensors up to here are proven.
    end: u64,
    tensors: u64,
    proven: u64,
    /// The tensor before, in the header's order.
    last: Place,
    /// The first tensor that does not begin at `end`, and where that stands in the header.
    misfit: Option<(u64, u64)>,
    stage: Stage,
}

/// Tensors are sorted by this.
#[derive(Clone, Copy)]
struct Place {
    begin: u64,
    end: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The first pass, and the header's order is the order of the offsets so far.
    InOrder,
    /// The first pass, and it is not.
    OutOfOrder,
    Sorting,
}

impl Place {
    const fn is_below(self, other: Self) -> bool {
        self.begin < other.begin || (self.begin == other.begin && self.end < other.end)
    }
}

impl<'s> Layout<'s> {
    pub(crate) const fn new(slots: &'s mut [Slot]) -> Self {
        Self {
            following: Smallest::new(slots),
            end: 0,
            tensors: 0,
            proven: 0,
            last: Place { begin: 0, end: 0 },
            misfit: None,
            stage: Stage::InOrder,
        }
    }

    /// How many tensors the header has.
    pub(crate) const fn tensors(&self) -> u64 {
        self.tensors
    }

    /// Where the last proven tensor ends.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// Whether the header has been seen whole before.
    pub(crate) const fn is_sorting(&self) -> bool {
        matches!(self.stage, Stage::Sorting)
    }

    /// Takes the next tensor of the header.
    pub(crate) const fn see(&mut self, tensor: Extent) {
        let Extent { begin, end, begin_at } = tensor;
        if self.is_sorting() {
            self.following.offer(Slot { key: begin, tie: end, at: begin_at });
            return;
        }
        self.tensors += 1;
        let place = Place { begin, end };
        if place.is_below(self.last) {
            self.stage = Stage::OutOfOrder;
        }
        self.last = place;
        if self.misfit.is_some() {
            return;
        }
        if begin == self.end {
            self.end = end;
        } else {
            self.misfit = Some((begin, begin_at));
        }
    }

    /// Draws the conclusion of a pass.
    pub(crate) const fn end_pass(&mut self, at: u64) -> Result<LayoutStep, Error> {
        match (self.stage, self.misfit) {
            (Stage::Sorting, _) => self.end_sorting_pass(at),
            (_, None) => Ok(LayoutStep::Proven),
            (Stage::InOrder, Some((begin, begin_at))) => Err(misfit(begin, self.end).at(begin_at)),
            (Stage::OutOfOrder, Some((_, begin_at))) => self.begin_sorting(begin_at),
        }
    }

    const fn begin_sorting(&mut self, misfit_at: u64) -> Result<LayoutStep, Error> {
        if self.following.capacity() == 0 {
            return Err(ErrorKind::OutOfOrder.at(misfit_at));
        }
        self.stage = Stage::Sorting;
        self.end = 0;
        Ok(LayoutStep::AnotherPass)
    }

    const fn end_sorting_pass(&mut self, at: u64) -> Result<LayoutStep, Error> {
        let more = self.following.overflowed();
        if let Err(error) = self.walk() {
            return Err(error);
        }
        // Every pass proves at least one tensor, so a header that stays the same comes to an end.
        let still_to_come = self.proven < self.tensors;
        match (more, still_to_come) {
            (true, true) => Ok(LayoutStep::AnotherPass),
            (false, false) if self.proven == self.tensors => Ok(LayoutStep::Proven),
            _ => Err(ErrorKind::Changed.at(at)),
        }
    }

    const fn walk(&mut self) -> Result<(), Error> {
        self.following.sort();
        let mut floor = Slot::EMPTY;
        let mut index = 0;
        while let Some(tensor) = self.following.get(index) {
            if let Err(kind) = self.append(tensor) {
                return Err(kind.at(tensor.at));
            }
            floor = Slot { at: tensor.at + 1, ..tensor };
            index += 1;
        }
        self.following.restart(floor);
        Ok(())
    }

    /// Each tensor begins where the one before it ended, the first one at 0.
    const fn append(&mut self, tensor: Slot) -> Result<(), ErrorKind> {
        if tensor.key != self.end {
            return Err(misfit(tensor.key, self.end));
        }
        self.end = tensor.tie;
        self.proven += 1;
        Ok(())
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
