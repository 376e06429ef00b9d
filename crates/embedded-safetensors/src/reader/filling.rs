//! A buffer on its way to being filled with elements of a slice: what to read next, and what to keep of it.
//!
//! Short runs with small gaps between them are read together: one read from the first run to as far as the buffer
//! reaches, gaps included. Then the runs are moved together where they lie. Elements narrower than a byte may begin
//! inside of one; they are packed without gaps, the first of them in the lowest bits.

use crate::slice::plan::SlicePlan;
use crate::slice::walk::Walk;
use crate::util::bytes::{index_below, touched_bytes};
use core::cell::Cell;

/// The largest gap in bytes over which runs are read together. A choice, small because cards read whole sectors of 512
/// bytes anyway, and memory costs nothing to skip in.
pub(crate) const SMALL_GAP: u64 = 64;

/// The longest run in bytes that is read together with others, for it is moved then. A choice, too.
const SHORT_RUN: u64 = 256;

/// A buffer on its way to being filled.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Filling {
    pub(crate) walk: Walk,
    /// How many elements the buffer has.
    pub(crate) filled: u64,
    /// How many it may have.
    most: u64,
}

/// What is to be read next.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Piece {
    /// From which byte of the tensor on.
    pub(crate) offset: u64,
    /// To which byte of the buffer.
    begin: usize,
    /// How many bytes.
    len: usize,
    /// Where the last of its elements ends, counted as those of the tensor are.
    end: u64,
    /// Whether the buffer ends before runs do that are small and close enough to be read with it.
    pub(crate) is_cut: bool,
}

impl Filling {
    /// With the elements from here on, as many as there are, but no more than so many.
    pub(crate) fn new(walk: Walk, most: u64) -> Self {
        Self { walk, filled: 0, most: most.min(walk.left) }
    }

    /// Nothing once the buffer has all that it may have. It must have room for one element more than it has.
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

    /// Where the last element ends that is read with the next one, and whether that is only for the lack of room.
    fn reach(&self, plan: &SlicePlan, room: u64) -> (u64, bool) {
        let (nest, limit) = (plan.nest(), self.walk.at.saturating_add(room));
        let mut wanted = self.most - self.filled;
        let (mut walk, mut end) = (self.walk, self.walk.at);
        loop {
            let part = walk.run_left.min(wanted);
            let fits = part.min(limit.saturating_sub(walk.at));
            if fits > 0 {
                end = walk.at + fits;
            }
            let is_last = fits < walk.run_left || part == wanted || !joins(plan, &walk);
            if is_last {
                return (end, fits < part);
            }
            wanted -= part;
            walk.advance(nest, part);
        }
    }

    /// Whether the buffer has all that it may have.
    pub(crate) const fn is_full(&self) -> bool {
        self.filled == self.most
    }

    /// Moves what was read to the elements that the buffer has, without the gaps, and goes on behind it.
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
    /// The part of the buffer that it is to be read into.
    pub(crate) fn room_in<'b>(&self, buffer: &'b mut [u8]) -> &'b mut [u8] {
        match buffer.split_at_mut_checked(self.begin) {
            Some((_, from)) => from.split_at_mut_checked(self.len).map_or(&mut [], |(room, _)| room),
            None => &mut [],
        }
    }
}

/// Whether this run is read together with the next one.
fn joins(plan: &SlicePlan, walk: &Walk) -> bool {
    let bits = |elements: u64| elements.saturating_mul(plan.bits().into());
    bits(plan.nest().run) <= SHORT_RUN * 8 && bits(walk.gap_ahead(plan.nest())) <= SMALL_GAP * 8
}

/// How many elements so many bytes have room for; of those of 6 bits, that fill whole bytes.
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

/// Moves so many bits, elements all, towards the front.
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
    let behind = |at| as_index(at).and_then(|at| bytes.get(at..)).unwrap_or(&[]);
    let len = as_index(len).unwrap_or(0);
    let pairs = behind(to).iter().zip(behind(from));
    pairs.take(len).for_each(|(to, from)| to.set(from.get()));
}

/// The byte that a bit is in and the one behind it.
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
