//! Fills a buffer with elements of a slice: which bytes to read next, and which of them to keep.
//!
//! Short runs with small gaps between them are read together. One read goes from the first run to the end
//! of the buffer, gaps included; then the runs are moved together in place. Elements narrower than a byte
//! may begin inside a byte. They are packed without gaps, the first of them in the lowest bits.

use crate::slice::plan::SlicePlan;
use crate::slice::walk::Walk;
use crate::util::bytes::{index_below, touched_bytes};
use core::cell::Cell;

/// The largest gap in bytes over which runs are read together. The value is a compromise: cards read whole
/// sectors of 512 bytes anyway, and in memory skipping costs nothing.
pub(crate) const SMALL_GAP: u64 = 64;

/// The longest run in bytes that is read together with others, because it must be moved afterwards. Also a
/// compromise.
const SHORT_RUN: u64 = 256;

/// A buffer that is being filled.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Filling {
    pub(crate) walk: Walk,
    /// How many elements have been filled.
    pub(crate) filled: u64,
    /// How many elements to fill at most.
    most: u64,
}

/// The next read.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Piece {
    /// The first byte of the tensor to read.
    pub(crate) offset: u64,
    /// The byte of the buffer to read to.
    begin: usize,
    /// How many bytes to read.
    pub(crate) len: usize,
    /// The end of the last element, counted in elements of the tensor.
    end: u64,
    /// Whether the buffer was too small to read all runs that are close enough to be read together.
    pub(crate) is_cut: bool,
}

impl Filling {
    /// Starts at `walk`, for at most `most` elements.
    pub(crate) fn new(walk: Walk, most: u64) -> Self {
        Self { walk, filled: 0, most: most.min(walk.left) }
    }

    /// Returns the next read, or `None` once the buffer is filled. There must be space for at least one
    /// more element.
    #[inline]
    pub(crate) fn next(&self, plan: &SlicePlan, capacity: usize) -> Option<Piece> {
        let begin = as_index(touched_bytes(plan.bits_of(self.filled)))?;
        let from = plan.bits_of(self.walk.at);
        let in_first_byte = from & 7 != 0;
        let room = capacity.checked_sub(begin)?.checked_sub(usize::from(in_first_byte))?;
        let (end, is_cut) = self.reach(plan, elements_in(room, plan.bits()));
        if end == self.walk.at {
            return None;
        }
        let offset = from >> 3;
        let len = as_index(touched_bytes(plan.bits_of(end)) - offset)?;
        Some(Piece { offset, begin, len, end, is_cut })
    }

    /// Returns the end of the last element that the next read covers, and whether only the space limits it.
    fn reach(&self, plan: &SlicePlan, room: u64) -> (u64, bool) {
        let (nest, limit) = (plan.nest(), self.walk.at.saturating_add(room));
        let mut left = self.most - self.filled;
        let (mut walk, mut end) = (self.walk, self.walk.at);
        loop {
            let part = walk.run_left.min(left);
            let fits = part.min(limit.saturating_sub(walk.at));
            if fits > 0 {
                end = walk.at + fits;
            }
            let is_last = fits < walk.run_left || part == left || !joins(plan, &walk);
            if is_last {
                return (end, fits < part);
            }
            left -= part;
            walk.advance(nest, part);
        }
    }

    /// Whether the buffer has all elements that it should have.
    pub(crate) const fn is_full(&self) -> bool {
        self.filled == self.most
    }

    /// Moves the elements that were read to the end of the filled ones, without the gaps, and advances.
    #[inline]
    pub(crate) fn keep(&mut self, plan: &SlicePlan, piece: &Piece, buffer: &mut [u8]) {
        let bits = plan.bits();
        let bytes = Cell::from_mut(buffer).as_slice_of_cells();
        let base = piece.offset.wrapping_sub(piece.begin as u64);
        while self.filled < self.most && self.walk.at < piece.end {
            let part = self.walk.run_left.min(self.most - self.filled).min(piece.end - self.walk.at);
            let from = plan.bits_of(self.walk.at).wrapping_sub(base << 3);
            shift(bytes, from, plan.bits_of(self.filled), plan.bits_of(part), bits);
            self.filled += part;
            self.walk.advance(plan.nest(), part);
        }
    }
}

impl Piece {
    /// Returns the part of the buffer that is not filled yet: its front is read into.
    pub(crate) fn room_in<'b>(&self, buffer: &'b mut [u8]) -> &'b mut [u8] {
        buffer.get_mut(self.begin..).unwrap_or_default()
    }
}

/// Whether this run is read together with the next one.
fn joins(plan: &SlicePlan, walk: &Walk) -> bool {
    let bits = |elements: u64| elements.saturating_mul(plan.bits().into());
    bits(plan.nest().run) <= SHORT_RUN * 8 && bits(walk.gap_ahead(plan.nest())) <= SMALL_GAP * 8
}

/// Returns how many elements fit into this many bytes; of 6-bit elements, a number that fills whole bytes.
pub(crate) fn elements_in(bytes: usize, bits: u8) -> u64 {
    let bytes_64 = bytes as u64;
    match bits {
        1 | 2 | 4 => bytes_64.saturating_mul(8 >> bits.trailing_zeros()),
        6 => (bytes / 3) as u64 * 4,
        bits => bytes_64 >> (bits >> 3).trailing_zeros(),
    }
}

fn as_index(bytes: u64) -> Option<usize> {
    index_below(bytes, usize::MAX)
}

/// Moves `len` bits, which are whole elements, towards the front.
fn shift(bytes: &[Cell<u8>], from: u64, to: u64, len: u64, bits: u8) {
    if from == to {
        return;
    }
    if (from | to | len) & 7 == 0 {
        return shift_bytes(bytes, from >> 3, to >> 3, len >> 3);
    }
    let mut done = 0;
    while done < len {
        put(bytes, to + done, take(bytes, from + done, bits), bits);
        done += u64::from(bits);
    }
}

fn shift_bytes(bytes: &[Cell<u8>], from: u64, to: u64, len: u64) {
    let from_byte = |at| as_index(at).and_then(|at| bytes.get(at..)).unwrap_or(&[]);
    let len = as_index(len).unwrap_or(0);
    let pairs = from_byte(to).iter().zip(from_byte(from));
    pairs.take(len).for_each(|(to, from)| to.set(from.get()));
}

/// Returns the byte that contains this bit, and the byte after it.
fn two(bytes: &[Cell<u8>], bit: u64) -> (Option<&Cell<u8>>, Option<&Cell<u8>>) {
    match as_index(bit >> 3).and_then(|at| bytes.get(at..)) {
        Some([low, high, ..]) => (Some(low), Some(high)),
        Some([low]) => (Some(low), None),
        _ => (None, None),
    }
}

fn word(low: Option<&Cell<u8>>, high: Option<&Cell<u8>>) -> u16 {
    u16::from_le_bytes([low, high].map(|byte| byte.map_or(0, Cell::get)))
}

fn take(bytes: &[Cell<u8>], bit: u64, bits: u8) -> u16 {
    let (low, high) = two(bytes, bit);
    word(low, high) >> (bit & 7) & ((1 << bits) - 1)
}

fn put(bytes: &[Cell<u8>], bit: u64, element: u16, bits: u8) {
    let (low, high) = two(bytes, bit);
    let mask = ((1 << bits) - 1) << (bit & 7);
    let [new_low, new_high] = (word(low, high) & !mask | element << (bit & 7)).to_le_bytes();
    if let Some(low) = low {
        low.set(new_low);
    }
    if let Some(high) = high {
        high.set(new_high);
    }
}
