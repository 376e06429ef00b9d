//! Reads arrays whose elements are not adjacent in a file, or in another order: in Fortran order, transposed,
//! permuted, sliced or expanded.
//!
//! The array is made in pieces of its own order. A piece is filled in the order of the file, so that each of
//! its bytes is read once for each piece, in reads that are as long as the gaps allow.

use crate::error::ensure;
use crate::source::pieces;
use crate::zip::{Part, read_full};
use std::borrow::Borrow;
use std::fs::File;
use std::io::{self, Read};

/// The largest piece, in bytes.
pub const PIECE: u64 = 16 << 20;
/// The largest read, in bytes.
const WINDOW: u64 = 1 << 20;
/// Gaps of at most this many bytes, or those as long as what is before them, are read, too.
const FAR: u64 = 1 << 12;
/// The number of bytes between two runs in the window.
const APART: u64 = 64;

/// An axis: its length, and the distances of neighbours in the file and in the result, in elements.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    len: u64,
    from: u64,
    to: u64,
}

/// A reader of an array.
struct Strided<F> {
    file: F,
    /// Where the first element is.
    begin: u64,
    width: u64,
    axes: Vec<Axis>,
    /// A piece has several indices of this axis, all of the axes after it, and one of those before it.
    split: usize,
    /// The largest number of its indices in a piece.
    step: u64,
    /// The number of the next piece, and of all pieces.
    next: u64,
    count: u64,
    window: Vec<u8>,
}

/// Returns a reader of the array with these dimensions and strides, whose first element is at `begin`. All
/// offsets of its elements fit 64 bits. A piece of so many bytes is read at a time.
pub fn strided<F: Borrow<File>>(
    piece: u64,
    file: F,
    begin: u64,
    width: u64,
    dims: &[u64],
    strides: &[u64],
) -> impl Read + use<F> {
    let axes = merged(dims, strides);
    let room = (piece / width).max(2);
    let split = axes.iter().position(|axis| axis.to <= room / 2).unwrap_or(axes.len());
    let step = axes.get(split).map_or(1, |axis| (room / axis.to).max(1));
    let chunks = axes.get(split).map_or(1, |axis| axis.len.div_ceil(step));
    let count = if dims.contains(&0) { 0 } else { chunks };
    let count = axes.iter().take(split).fold(count, |count, axis| count * axis.len);
    let mut array = Strided { file, begin, width, axes, split, step, next: 0, count, window: Vec::new() };
    pieces(move |piece| array.make(piece))
}

impl<F: Borrow<File>> Strided<F> {
    /// Makes the next piece; an empty one after the last.
    fn make(&mut self, piece: &mut Vec<u8>) -> io::Result<()> {
        if self.next == self.count {
            return Ok(());
        }
        let (before, rest) = self.axes.split_at(self.split);
        let (mut axes, mut number, mut from) = (rest.to_vec(), self.next, 0);
        if let Some(axis) = axes.first_mut() {
            let chunks = axis.len.div_ceil(self.step);
            let index = number % chunks * self.step;
            (number, from) = (number / chunks, index * axis.from);
            axis.len = self.step.min(axis.len - index);
        }
        for axis in before.iter().rev() {
            from += number % axis.len * axis.from;
            number /= axis.len;
        }
        let elements: u64 = axes.iter().map(|axis| axis.len).product();
        piece.resize(to_usize(elements * self.width), 0);
        axes.sort_by_key(|axis| axis.from);
        self.next += 1;
        self.fill(&axes, from, piece)
    }

    /// Fills a part of the piece from axes in the order of the file, the fastest first.
    fn fill(&mut self, axes: &[Axis], from: u64, piece: &mut [u8]) -> io::Result<()> {
        let (slow, rest) = axes.split_last().unwrap_or((&Axis { len: 1, from: 0, to: 0 }, &[]));
        let step = slow.from * self.width;
        let (span, is_near) = match self.span(rest) {
            Some(span) => (span, is_near(step, span)),
            None => (0, false),
        };
        // Runs that are far apart are read one by one, and gathered together. Their distance in the window
        // does not map all of them to the same lines of the processor's cache.
        let apart = if is_near { step } else { span + APART };
        let at_once = if span == 0 { 1 } else { 1 + WINDOW.saturating_sub(span) / apart.max(1) };
        let mut index = 0;
        while index < slow.len {
            let len = at_once.min(slow.len - index);
            let from = from + index * slow.from;
            let piece = piece.get_mut(to_usize(index * slow.to * self.width)..).unwrap_or_default();
            index += len;
            if span == 0 {
                self.fill(rest, from, piece)?;
                continue;
            }
            self.window.resize(to_usize((len - 1) * apart + span), 0);
            let reads = if is_near { 1 } else { len };
            let most = if is_near { u64::MAX } else { span };
            for read in 0..reads {
                self.read(from + read * slow.from, to_usize(read * apart), most)?;
            }
            let block = Axis { len, from: apart / self.width, to: slow.to };
            self.gather(&[rest, &[block]].concat(), piece);
        }
        Ok(())
    }

    /// Returns how many bytes there are from the first element of some axes to the last; `None` if they are
    /// not read at once.
    fn span(&self, axes: &[Axis]) -> Option<u64> {
        axes.iter().try_fold(self.width, |span, axis| {
            let step = axis.from.saturating_mul(self.width);
            let all = (axis.len - 1).saturating_mul(step).saturating_add(span);
            (is_near(step, span) && all <= WINDOW).then_some(all)
        })
    }

    /// Fills the window from a place on, with at most so many bytes from an element on.
    fn read(&mut self, from: u64, place: usize, most: u64) -> io::Result<()> {
        let window = self.window.get_mut(place..).unwrap_or_default();
        let len = window.len().min(to_usize(most));
        let at = self.begin.saturating_add(from * self.width);
        let read = read_full(&mut Part::new(self.file.borrow(), at, most), &mut window[..len])?;
        ensure(read == len, || "the file has become shorter while it was read")
    }

    /// Copies the elements of the window to a part of the piece.
    fn gather(&self, axes: &[Axis], piece: &mut [u8]) {
        let mut axes: Vec<Axis> = axes.iter().copied().filter(|axis| axis.len > 1).collect();
        // Neighbours in the result last, to write it in its order.
        axes.sort_by_key(|axis| std::cmp::Reverse(axis.to));
        match self.width {
            1 => copy::<1>(&self.window, piece, &axes),
            2 => copy::<2>(&self.window, piece, &axes),
            4 => copy::<4>(&self.window, piece, &axes),
            _ => copy::<8>(&self.window, piece, &axes),
        }
    }
}

fn is_near(step: u64, span: u64) -> bool {
    step <= span.saturating_add(FAR.max(span))
}

/// Copies elements of `WIDTH` bytes along all axes.
fn copy<const WIDTH: usize>(from: &[u8], to: &mut [u8], axes: &[Axis]) {
    let Some((axis, rest)) = axes.split_first() else {
        if let (Some(from), Some(to)) = (from.first_chunk::<WIDTH>(), to.first_chunk_mut::<WIDTH>()) {
            *to = *from;
        }
        return;
    };
    let len = to_usize(axis.len);
    if let (true, 1, 1) = (rest.is_empty(), axis.from, axis.to) {
        let run = from.get(..len * WIDTH).zip(to.get_mut(..len * WIDTH));
        run.into_iter().for_each(|(from, to)| to.copy_from_slice(from));
        return;
    }
    let (from_step, to_step) = (to_usize(axis.from) * WIDTH, to_usize(axis.to) * WIDTH);
    for index in 0..len {
        let (Some(from), Some(to)) = (from.get(index * from_step..), to.get_mut(index * to_step..)) else {
            return;
        };
        copy::<WIDTH>(from, to, rest);
    }
}

/// Returns the axes with more than one index; neighbours that are like one axis are merged.
fn merged(dims: &[u64], strides: &[u64]) -> Vec<Axis> {
    if dims.contains(&0) {
        return Vec::new();
    }
    let mut axes: Vec<Axis> = Vec::new();
    for (&len, &from) in dims.iter().zip(strides).filter(|(len, _)| **len != 1) {
        match axes.last_mut() {
            Some(last) if from.checked_mul(len) == Some(last.from) => {
                *last = Axis { len: last.len.saturating_mul(len), from, to: 1 };
            }
            _ => axes.push(Axis { len, from, to: 1 }),
        }
    }
    let mut to = 1;
    for axis in axes.iter_mut().rev() {
        axis.to = to;
        to = axis.len.saturating_mul(to);
    }
    axes
}

/// Returns the strides of an array without gaps whose first axis varies fastest.
pub fn fortran(dims: &[u64]) -> Vec<u64> {
    let next = |stride: &mut u64, dim: &u64| {
        let own = *stride;
        *stride = stride.saturating_mul((*dim).max(1));
        Some(own)
    };
    dims.iter().scan(1, next).collect()
}

/// Whether strides are those of an array without gaps in the order of safetensors.
pub fn is_contiguous(dims: &[u64], strides: &[u64]) -> bool {
    matches!(merged(dims, strides)[..], [] | [Axis { from: 1, .. }])
}

/// Converts lengths within a piece or a window, which fit.
fn to_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::{PIECE, fortran, is_contiguous, strided};
    use crate::samples::{file, noise};
    use std::io::Read;

    fn expected(bytes: &[u8], width: usize, dims: &[u64], strides: &[u64]) -> Vec<u8> {
        let mut starts = vec![0];
        for (len, stride) in dims.iter().zip(strides) {
            starts =
                starts.iter().flat_map(|start| (0..*len).map(move |index| start + index * stride)).collect();
        }
        let element = |start: u64| bytes[usize::try_from(start).expect("small") * width..][..width].to_vec();
        starts.into_iter().flat_map(element).collect()
    }

    /// Reads an array of elements that are random bytes, in pieces of several sizes.
    fn check(dims: &[u64], strides: &[u64], widths: &[usize], pieces: &[u64]) {
        let last: u64 = dims.iter().zip(strides).map(|(dim, stride)| dim.saturating_sub(1) * stride).sum();
        for width in widths {
            let bytes = noise((usize::try_from(last).expect("small") + 1) * width, 1);
            let file = file(&[&[0; 3], &bytes[..]].concat());
            let expected = expected(&bytes, *width, dims, strides);
            for piece in pieces {
                let mut result = Vec::new();
                let mut reader = strided(*piece, &file, 3, *width as u64, dims, strides);
                reader.read_to_end(&mut result).expect("read");
                assert!(result == expected, "{dims:?} {strides:?} {width} {piece}");
            }
        }
    }

    #[test]
    fn arrays_are_as_a_simple_loop_reads_them() {
        for (dims, strides) in [
            (&[][..], &[][..]),
            (&[5], &[2]),
            (&[30, 40], &[1, 30]),
            (&[30, 40], &[0, 1]),
            (&[30, 40], &[1, 0]),
            (&[3, 4, 5], &[20, 1, 4]),
            (&[3, 1, 4, 5], &[1, 99, 15, 3]),
            (&[2, 3, 4, 5], &[60, 1, 15, 3]),
            (&[10, 10], &[1, 1]),
            (&[4, 4, 4], &[0, 0, 0]),
            (&[7, 0], &[3, 1]),
            (&[0, 1 << 40, 1 << 40], &[0, 0, 0]),
            (&[1, 1], &[9, 9]),
            (&[2, 600], &[1, 2]),
        ] {
            check(dims, strides, &[1, 2, 4, 8], &[1, 16, 100, PIECE]);
        }
        // Large gaps.
        for (dims, strides) in
            [([2_u64, 20], [1_u64, 1 << 20]), ([40, 3000], [1 << 16, 1]), ([3000, 40], [1, 1 << 16])]
        {
            check(&dims, &strides, &[1], &[PIECE]);
        }
    }

    /// Blocks of several columns, parts of long columns, elements far apart, and rows that no piece can have.
    #[test]
    fn arrays_in_fortran_order_are_transposed() {
        for text in "2 3,1 7,3 40000,40000 3,9000 34,70 500 3,3 5 7 11 2,6000 2 5,2 9000 4".split(',') {
            let dims: Vec<u64> = text.split(' ').map(|dim| dim.parse().expect("a number")).collect();
            check(&dims, &fortran(&dims), &[1, 8], &[3000, 100_000, PIECE]);
        }
        check(&[2, 3, 250_000], &fortran(&[2, 3, 250_000]), &[4], &[1 << 20]);
    }

    /// Nothing continues behind a piece that cannot be read.
    #[test]
    fn errors_are_repeated() {
        let mut reader = strided(2, file(&[7; 10]), 0, 1, &[2, 2, 2], &[1, 100, 2]);
        let reads = [(); 3].map(|()| reader.read(&mut [0; 2]).map_err(|error| error.to_string()));
        let shorter = Err("the file has become shorter while it was read".to_owned());
        assert_eq!(reads, [Ok(2), shorter.clone(), shorter]);
    }

    #[test]
    fn axes_of_one_index_may_have_any_stride() {
        assert!(is_contiguous(&[], &[]) && is_contiguous(&[2, 1, 3], &[3, 77, 1]));
        assert!(is_contiguous(&[2, 0], &[5, 5]));
        assert!(!is_contiguous(&[2, 3], &[1, 2]) && !is_contiguous(&[2, 3], &[0, 1]));
    }
}
