//! Reads views whose elements are not adjacent: transposed, permuted, sliced or expanded.
//!
//! The view is made in pieces of its own order. A piece is filled in the order of the storage, so that each
//! of its bytes is read once for each piece, in reads that are as long as the gaps allow.

use crate::error::unsound;
use crate::position::after;
use crate::zip::{Part, read_full};
use std::fs::File;
use std::io::{self, Read};

/// The largest piece, in bytes.
const PIECE: u64 = 8 << 20;
/// The largest read, in bytes.
const WINDOW: u64 = 1 << 20;
/// Gaps of at most this many bytes are read, too.
const FAR: u64 = 1 << 12;

/// An axis: its length, and the distances of neighbours in the storage and in the result, in elements.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    len: u64,
    from: u64,
    to: u64,
}

/// A reader of a view.
pub(super) struct Strided<'f> {
    file: &'f File,
    /// Where the storage begins.
    begin: u64,
    width: u64,
    /// The index of the first element in the storage.
    offset: u64,
    axes: Vec<Axis>,
    /// The axis of which a piece has several indices. It has all of the axes after it, and one of those
    /// before it.
    split: usize,
    /// The largest number of its indices in a piece.
    step: u64,
    /// The first indices of the next piece, up to the split axis; `None` after the last piece.
    next: Option<Vec<u64>>,
    piece: Vec<u8>,
    given: usize,
    window: Vec<u8>,
}

impl<'f> Strided<'f> {
    /// Creates a reader of the view with these dimensions and strides of a storage that begins at `begin`,
    /// whose end within the storage was checked.
    pub fn new(file: &'f File, begin: u64, width: u64, offset: u64, dims: &[u64], strides: &[u64]) -> Self {
        Self { begin, ..Self::within(PIECE, file, width, offset, dims, strides) }
    }

    fn within(piece: u64, file: &'f File, width: u64, offset: u64, dims: &[u64], strides: &[u64]) -> Self {
        let axes = merged(dims, strides);
        let room = (piece / width).max(2);
        let split = axes.iter().position(|axis| axis.to <= room / 2).unwrap_or(axes.len());
        let step = axes.get(split).map_or(1, |axis| (room / axis.to).max(1));
        let next = (!dims.contains(&0)).then(|| vec![0; (split + 1).min(axes.len())]);
        let (piece, window) = (Vec::new(), Vec::new());
        Self { file, begin: 0, width, offset, axes, split, step, next, piece, given: 0, window }
    }

    /// Makes the next piece; an empty one after the last.
    fn make(&mut self) -> io::Result<()> {
        self.piece.clear();
        self.given = 0;
        let Some(first) = self.next.take() else { return Ok(()) };
        let from = first.iter().zip(&self.axes).map(|(index, axis)| index * axis.from).sum::<u64>();
        let mut axes: Vec<Axis> = self.axes.get(self.split..).unwrap_or_default().to_vec();
        let mut count = 1;
        if let (Some(axis), Some(index)) = (axes.first_mut(), first.last()) {
            count = self.step.min(axis.len - index);
            axis.len = count;
        }
        let elements: u64 = axes.iter().map(|axis| axis.len).product();
        self.piece.resize(to_usize(elements * self.width), 0);
        axes.sort_by_key(|axis| axis.from);
        self.fill(self.offset + from, &axes)?;
        self.next = after(first, count, self.axes.iter().map(|axis| axis.len));
        Ok(())
    }

    /// Fills the piece from its axes in the order of the storage.
    fn fill(&mut self, from: u64, axes: &[Axis]) -> io::Result<()> {
        let (whole, count) = self.read_at_once(axes);
        let (inner, rest) = axes.split_at(whole.min(axes.len()));
        let (partial, outer) = match rest.split_first() {
            Some((partial, outer)) => (*partial, outer),
            None => (Axis { len: 1, from: 0, to: 0 }, rest),
        };
        let mut places = Places::new(outer);
        while let Some((outer_from, outer_to)) = places.next() {
            let mut index = 0;
            while index < partial.len {
                let block = Axis { len: count.min(partial.len - index), ..partial };
                let block_from = from + outer_from + index * partial.from;
                let span =
                    inner.iter().chain([&block]).map(|axis| (axis.len - 1) * axis.from).sum::<u64>() + 1;
                self.window.resize(to_usize(span * self.width), 0);
                let at = self.begin.saturating_add(block_from * self.width);
                let mut part = Part::new(self.file, at, self.window.len() as u64);
                if read_full(&mut part, &mut self.window)? < self.window.len() {
                    return Err(unsound("the file has become shorter while it was read"));
                }
                self.gather(inner, block, outer_to + index * partial.to);
                index += block.len;
            }
        }
        Ok(())
    }

    /// Returns how many axes are read at once, and how many indices of the axis after them.
    fn read_at_once(&self, axes: &[Axis]) -> (usize, u64) {
        let mut span = self.width;
        for (index, axis) in axes.iter().enumerate() {
            let step = axis.from.saturating_mul(self.width);
            let is_near = step <= span.saturating_add(FAR.max(span.saturating_mul(3)));
            let all = (axis.len - 1).saturating_mul(step).saturating_add(span);
            if is_near && all <= WINDOW {
                span = all;
            } else if is_near {
                return (index, (1 + WINDOW.saturating_sub(span) / step.max(1)).min(axis.len));
            } else {
                return (index, 1);
            }
        }
        (axes.len(), 1)
    }

    /// Copies the elements of the window to the piece.
    fn gather(&mut self, inner: &[Axis], block: Axis, to: u64) {
        let mut axes: Vec<Axis> = inner.iter().copied().chain([block]).filter(|axis| axis.len > 1).collect();
        // The innermost axes of the loop.
        while axes.len() < 2 {
            axes.insert(0, Axis { len: 1, from: 1, to: 1 });
        }
        let (window, piece) = (&self.window, &mut self.piece);
        match self.width {
            1 => copy::<1>(window, piece, &axes, to),
            2 => copy::<2>(window, piece, &axes, to),
            4 => copy::<4>(window, piece, &axes, to),
            _ => copy::<8>(window, piece, &axes, to),
        }
    }
}

fn copy<const WIDTH: usize>(window: &[u8], piece: &mut [u8], axes: &[Axis], to: u64) {
    let [first, second, outer @ ..] = axes else { return };
    let (from_step, to_step) = (to_usize(first.from) * WIDTH, to_usize(first.to) * WIDTH);
    let is_run = first.from == 1 && first.to == 1;
    let mut places = Places::new(outer);
    while let Some((outer_from, outer_to)) = places.next() {
        for index in 0..second.len {
            let from = to_usize(outer_from + index * second.from) * WIDTH;
            let at = to_usize(to + outer_to + index * second.to) * WIDTH;
            let (Some(from), Some(to)) = (window.get(from..), piece.get_mut(at..)) else { return };
            let len = to_usize(first.len);
            if is_run {
                let (Some(from), Some(to)) = (from.get(..len * WIDTH), to.get_mut(..len * WIDTH)) else {
                    return;
                };
                to.copy_from_slice(from);
                continue;
            }
            for index in 0..len {
                let (from_at, to_at) = (index * from_step, index * to_step);
                let (Some(from), Some(to)) =
                    (from.get(from_at..from_at + WIDTH), to.get_mut(to_at..to_at + WIDTH))
                else {
                    return;
                };
                to.copy_from_slice(from);
            }
        }
    }
}

/// The places of all indices of some axes, the first axis fastest.
struct Places<'a> {
    axes: &'a [Axis],
    /// The next indices; `None` after the last.
    next: Option<Vec<u64>>,
}

impl<'a> Places<'a> {
    fn new(axes: &'a [Axis]) -> Self {
        Self { axes, next: Some(vec![0; axes.len()]) }
    }

    fn next(&mut self) -> Option<(u64, u64)> {
        let indices = self.next.as_mut()?;
        let sum = |step: fn(&Axis) -> u64| {
            indices.iter().zip(self.axes).map(|(index, axis)| index * step(axis)).sum::<u64>()
        };
        let place = (sum(|axis| axis.from), sum(|axis| axis.to));
        for (index, axis) in indices.iter_mut().zip(self.axes) {
            *index += 1;
            if *index < axis.len {
                return Some(place);
            }
            *index = 0;
        }
        self.next = None;
        Some(place)
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
                *last = Axis { len: last.len * len, from, to: 1 };
            }
            _ => axes.push(Axis { len, from, to: 1 }),
        }
    }
    let mut to = 1;
    for axis in axes.iter_mut().rev() {
        axis.to = to;
        to *= axis.len;
    }
    axes
}

impl Read for Strided<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.piece.len() {
            self.make()?;
        }
        let rest = self.piece.get(self.given..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        self.given += len;
        Ok(len)
    }
}

/// Converts lengths within a piece or a window, which fit.
fn to_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::Strided;
    use std::io::{Read, Write};

    fn expected(bytes: &[u8], width: usize, offset: u64, dims: &[u64], strides: &[u64]) -> Vec<u8> {
        let mut starts = vec![offset];
        for (len, stride) in dims.iter().zip(strides) {
            starts =
                starts.iter().flat_map(|start| (0..*len).map(move |index| start + index * stride)).collect();
        }
        let element = |start: u64| bytes[usize::try_from(start).expect("small") * width..][..width].to_vec();
        starts.into_iter().flat_map(element).collect()
    }

    const VIEWS: &[(u64, &[u64], &[u64])] = &[
        (0, &[], &[]),
        (3, &[5], &[2]),
        (0, &[30, 40], &[1, 30]),
        (1, &[30, 40], &[0, 1]),
        (1, &[30, 40], &[1, 0]),
        (2, &[3, 4, 5], &[20, 1, 4]),
        (2, &[3, 1, 4, 5], &[1, 99, 15, 3]),
        (0, &[2, 3, 4, 5], &[60, 1, 15, 3]),
        (0, &[10, 10], &[1, 1]),
        (0, &[4, 4, 4], &[0, 0, 0]),
        (0, &[7, 0], &[3, 1]),
        (7, &[1, 1], &[9, 9]),
        (0, &[2, 600], &[1, 2]),
    ];

    #[test]
    fn views_are_as_a_simple_loop_reads_them() {
        let bytes: Vec<u8> = (0..12_000_u32).map(|index| u8::try_from(index % 251).unwrap_or(0)).collect();
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&[0; 3]).expect("written");
        file.write_all(&bytes).expect("written");
        for (offset, dims, strides) in VIEWS {
            for width in [1, 2, 4, 8] {
                let expected = expected(&bytes, width, *offset, dims, strides);
                for piece in [1, 16, 100, 1 << 20] {
                    let reader = Strided::within(piece, &file, width as u64, *offset, dims, strides);
                    let mut result = Vec::new();
                    Strided { begin: 3, ..reader }.read_to_end(&mut result).expect("read");
                    assert_eq!(result, expected, "{offset} {dims:?} {strides:?} {width} {piece}");
                }
            }
        }
    }

    #[test]
    fn large_gaps_are_not_read() {
        let bytes: Vec<u8> = (0..40_u32 << 16).map(|index| u8::try_from(index % 251).unwrap_or(0)).collect();
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&bytes).expect("written");
        for (dims, strides) in
            [([20_u64, 2], [1_u64, 1 << 20]), ([40, 3000], [1 << 16, 1]), ([3000, 40], [1, 1 << 16])]
        {
            let mut result = Vec::new();
            Strided::new(&file, 0, 1, 5, &dims, &strides).read_to_end(&mut result).expect("read");
            assert_eq!(result, expected(&bytes, 1, 5, &dims, &strides));
        }
    }
}
