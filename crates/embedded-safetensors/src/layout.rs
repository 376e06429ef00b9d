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

/// Tensors are sorted by this.
#[derive(Clone, Copy)]
struct Place {
    begin: u64,
    end: u64,
}

impl Place {
    const fn is_below(self, other: Self) -> bool {
        self.begin < other.begin || (self.begin == other.begin && self.end < other.end)
    }
}

/// The first pass: enough for a header in the order of its offsets, and knows whether it is one.
pub(crate) struct InOrder {
    /// The tensors lie end to end up to here.
    end: u64,
    /// The tensor before, in the header's order.
    last: Place,
    /// Where the first tensor begins that does not begin at `end`.
    misfit: u64,
    /// Where in the header that stands; 0 while there is none.
    misfit_at: u32,
    tensors: u32,
    in_order: bool,
}

impl InOrder {
    pub(crate) const fn new() -> Self {
        let last = Place { begin: 0, end: 0 };
        Self { end: 0, last, misfit: 0, misfit_at: 0, tensors: 0, in_order: true }
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
        self.in_order &= !place.is_below(self.last);
        self.last = place;
        if self.misfit_at != 0 {
            return;
        }
        if begin == self.end {
            self.end = end;
        } else {
            self.misfit = begin;
            self.misfit_at = begin_at;
        }
    }

    /// Draws the conclusion of the pass: the tensors lie end to end, or they do not, or that cannot be
    /// told without sorting them.
    pub(crate) const fn conclude(&self) -> Result<(), Error> {
        let kind = match (self.misfit_at, self.in_order) {
            (0, _) => return Ok(()),
            (_, true) => misfit(self.misfit, self.end),
            (_, false) => ErrorKind::OutOfOrder,
        };
        Err(kind.at(self.misfit_at as u64))
    }
}

pub(crate) enum LayoutStep {
    /// Feed the header once more.
    AnotherPass,
    /// The tensors lie end to end.
    Proven,
}

/// The passes after the first one, for a header in any order.
pub(crate) struct Sorting<'s> {
    following: Smallest<'s>,
    /// The tensors up to here are proven.
    end: u64,
    proven: u32,
    begun: bool,
}

impl<'s> Sorting<'s> {
    pub(crate) const fn new(slots: &'s mut [Slot]) -> Self {
        Self { following: Smallest::new(slots), end: 0, proven: 0, begun: false }
    }

    /// Whether there is memory to sort in.
    pub(crate) const fn is_possible(&self) -> bool {
        self.following.capacity() > 0
    }

    pub(crate) const fn begin(&mut self) {
        self.begun = true;
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
        self.following.offer(Slot { key: begin, tie: end, at: begin_at as u64 });
    }

    /// Draws the conclusion of a pass over a header that had this many tensors in the first one.
    pub(crate) const fn end_pass(&mut self, tensors: u64, at: u64) -> Result<LayoutStep, Error> {
        let more = self.following.overflowed();
        if let Err(error) = self.walk() {
            return Err(error);
        }
        // Every pass proves at least one tensor, so a header that stays the same comes to an end.
        let proven = self.proven as u64;
        match (more, proven < tensors) {
            (true, true) => Ok(LayoutStep::AnotherPass),
            (false, false) if proven == tensors => Ok(LayoutStep::Proven),
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
