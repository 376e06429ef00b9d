//! A slice in a file: which bytes to read next, and which of them to keep.
//!
//! Short runs with small gaps between them are read together. One read goes from the first run to the end
//! of the buffer, gaps included; then the runs are moved together in place. Elements narrower than a byte
//! may begin inside a byte. They are packed without gaps, the first of them in the lowest bits.

use super::region::sealed::{Block, Reach, Region, Run};
use super::shift::shift;
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::slice::plan::SlicePlan;
use crate::slice::range::AxisRange;
use crate::slice::walk::{ByteRuns, Walk};
use crate::tensor::span::Span;
use crate::util::bytes::{front, index_below, touched_bytes};
use core::cell::Cell;

/// The largest gap in bytes over which runs are read together. The value is a compromise: cards read whole
/// sectors of 512 bytes anyway, and in memory skipping costs nothing.
pub(crate) const SMALL_GAP: u64 = 64;

/// The longest run in bytes that is read together with others, because it must be moved afterwards. Also a
/// compromise.
const SHORT_RUN: u64 = 256;

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
    pub(crate) fn chunk(&self, capacity: usize) -> Result<Block, Error> {
        self.byte_len()?;
        let bits = self.plan.bits();
        let most = elements_in(capacity, bits);
        if most == 0 && self.walk.left > 0 {
            let needed = if bits == 6 { 3 } else { touched_bytes(bits.into()) };
            return Err(self.no_room(needed, capacity));
        }
        Ok(Block::new(most.min(self.walk.left)))
    }

    /// Starts to fill a buffer of this length with all remaining bytes.
    ///
    /// # Errors
    /// [`ErrorKind::PartOfByte`]; [`ErrorKind::BufferLength`] when they do not fit.
    pub(crate) fn rest(&self, capacity: usize) -> Result<Block, Error> {
        self.byte_len()?;
        let needed = self.plan.bits_of(self.walk.left) >> 3;
        if needed > capacity as u64 {
            return Err(self.no_room(needed, capacity));
        }
        Ok(Block::new(self.walk.left))
    }

    /// Returns the part of the buffer that has been filled.
    pub(crate) fn filled<'b>(&self, block: &Block, buffer: &'b mut [u8]) -> &'b [u8] {
        front(buffer, self.plan.bits_of(block.filled) >> 3)
    }

    fn no_room(&self, needed: u64, capacity: usize) -> Error {
        let capacity = capacity as u64;
        ErrorKind::BufferLength { needed, capacity }.at(self.offset().saturating_add(capacity))
    }

    /// Returns the byte of the file at which this many elements of the tensor end.
    const fn after(&self, elements: u64) -> u64 {
        self.start + (self.plan.bits_of(elements) >> 3)
    }

    /// Returns the end of the last element that the next read covers, and whether only the space limits it.
    fn reach(&self, at: &Walk, mut left: u64, room: u64) -> (u64, bool) {
        let (nest, limit) = (self.plan.nest(), at.at.saturating_add(room));
        let (mut walk, mut end) = (*at, at.at);
        loop {
            let part = walk.run_left.min(left);
            let fits = part.min(limit.saturating_sub(walk.at));
            if fits > 0 {
                end = walk.at + fits;
            }
            let is_last = fits < walk.run_left || part == left || !self.joins(&walk);
            if is_last {
                return (end, fits < part);
            }
            left -= part;
            walk.advance(nest, part);
        }
    }

    /// Whether this run is read together with the next one.
    fn joins(&self, walk: &Walk) -> bool {
        let (nest, bits) = (self.plan.nest(), u64::from(self.plan.bits()));
        nest.run.saturating_mul(bits) <= SHORT_RUN * 8
            && walk.gap_ahead(nest).saturating_mul(bits) <= SMALL_GAP * 8
    }
}

impl Region for Sliced {
    type At = Walk;
    const IS_ONE_RUN: bool = false;

    fn dtype(&self) -> Dtype {
        self.plan.dtype()
    }

    fn count(&self) -> u64 {
        self.plan.elements()
    }

    fn at(&self) -> Walk {
        self.walk
    }

    fn go(&mut self, at: Walk) {
        self.walk = at;
    }

    fn left(&self, at: &Walk) -> u64 {
        at.left
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

    #[inline]
    fn next_run(&self, at: &Walk, block: &Block, room: usize) -> Option<Run> {
        let plan = &self.plan;
        let begin = index_below(touched_bytes(plan.bits_of(block.filled)), usize::MAX)?;
        let from = plan.bits_of(at.at);
        let in_first_byte = from & 7 != 0;
        let room = room.checked_sub(begin)?.checked_sub(usize::from(in_first_byte))?;
        let (end, is_cut) = self.reach(at, block.most - block.filled, elements_in(room, plan.bits()));
        if end == at.at {
            return None;
        }
        let offset = from >> 3;
        let len = index_below(touched_bytes(plan.bits_of(end)) - offset, usize::MAX)?;
        Some(Run { offset: self.start + offset, begin, len, reach: Reach { end, skip: 0, is_cut } })
    }

    fn keep(&self, at: &mut Walk, block: &mut Block, reach: &Reach, memory: &mut [u8]) {
        let plan = &self.plan;
        let bytes = Cell::from_mut(memory).as_slice_of_cells();
        // The buffer begins at this byte of the tensor, as far as the elements that were read are concerned.
        let begin = touched_bytes(plan.bits_of(block.filled));
        let base = (plan.bits_of(at.at) >> 3).wrapping_sub(begin);
        // In copies, which need not be stored after each run.
        let (mut walk, Block { mut filled, most, .. }, end) = (*at, *block, reach.end);
        while filled < most && walk.at < end {
            let part = walk.run_left.min(most - filled).min(end - walk.at);
            let from = plan.bits_of(walk.at).wrapping_sub(base << 3);
            shift(bytes, from, plan.bits_of(filled), plan.bits_of(part), plan.bits());
            filled += part;
            walk.advance(plan.nest(), part);
        }
        (*at, block.filled) = (walk, filled);
    }
}

/// Returns how many elements fit into this many bytes; of 6-bit elements, a number that fills whole bytes.
fn elements_in(bytes: usize, bits: u8) -> u64 {
    let bytes_64 = bytes as u64;
    match bits {
        1 | 2 | 4 => bytes_64.saturating_mul(8 >> bits.trailing_zeros()),
        6 => (bytes / 3) as u64 * 4,
        bits => bytes_64 >> (bits >> 3).trailing_zeros(),
    }
}
