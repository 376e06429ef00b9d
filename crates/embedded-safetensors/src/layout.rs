//! The proof that tensors and data cover each other exactly: no hole, no overlap.
//!
//! Where the header lists its tensors in the order of their offsets, as every file of the reference
//! does, each tensor must begin where the one before it ended: one pass, no memory. Otherwise every
//! further pass over the header collects as many of the following tensors, in the order of
//! `(begin, end, position)`, as there are slots, and walks along them. Nothing is summed or hashed:
//! a sum cannot see an empty tensor inside another one.

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
    /// Where the first offset stands that is out of order, once there is one.
    disorder: Option<u64>,
    sorting: bool,
}

impl<'s> Layout<'s> {
    pub(crate) const fn new(slots: &'s mut [Slot]) -> Self {
        let following = Smallest::new(slots);
        Self { following, end: 0, tensors: 0, proven: 0, disorder: None, sorting: false }
    }

    /// How many tensors the header has.
    pub(crate) const fn tensors(&self) -> u64 {
        self.tensors
    }

    /// Where the last proven tensor ends.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// Takes the next tensor of the header.
    pub(crate) const fn see(&mut self, tensor: Extent) {
        if self.sorting {
            self.following.offer(Slot { key: tensor.begin, tie: tensor.end, at: tensor.begin_at });
            return;
        }
        self.tensors += 1;
        if tensor.begin == self.end {
            self.end = tensor.end;
        } else if self.disorder.is_none() {
            self.disorder = Some(tensor.begin_at);
        }
    }

    /// Draws the conclusion of a pass.
    pub(crate) const fn end_pass(&mut self, at: u64) -> Result<LayoutStep, Error> {
        if self.sorting {
            return self.end_sorting_pass(at);
        }
        let Some(disorder) = self.disorder else { return Ok(LayoutStep::Proven) };
        if self.following.capacity() == 0 {
            return Err(ErrorKind::OutOfOrder.at(disorder));
        }
        self.sorting = true;
        self.end = 0;
        Ok(LayoutStep::AnotherPass)
    }

    const fn end_sorting_pass(&mut self, at: u64) -> Result<LayoutStep, Error> {
        let more = self.following.overflowed();
        if let Err(error) = self.walk() {
            return Err(error);
        }
        if more {
            return Ok(LayoutStep::AnotherPass);
        }
        if self.proven != self.tensors {
            return Err(ErrorKind::Changed.at(at));
        }
        Ok(LayoutStep::Proven)
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
        let (begin, previous_end) = (tensor.key, self.end);
        if begin > previous_end {
            return Err(ErrorKind::Hole { begin, previous_end });
        }
        if begin < previous_end {
            return Err(ErrorKind::Overlap { begin, previous_end });
        }
        self.end = tensor.tie;
        self.proven += 1;
        Ok(())
    }
}
