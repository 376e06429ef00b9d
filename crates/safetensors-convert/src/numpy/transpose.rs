//! Transposes arrays from Fortran order, where the first axis varies fastest, to the order of safetensors,
//! where the last axis does.

use super::ahead::{MadeAhead, Make};
use crate::error::unsound;
use crate::parallel::share;
use crate::position::after;
use embedded_safetensors::ReadAt;
use std::fs::File;
use std::io;
use std::num::NonZero;
use std::thread::available_parallelism;

/// The largest piece of the result in bytes. Two pieces are in memory at a time.
const MEMORY: usize = 24 << 20;
/// The most threads. Each has buffers of less than a mebibyte.
const THREADS: usize = 8;
/// The smallest part of a piece that is worth a thread, in bytes.
const WORTH: usize = 1 << 20;
/// The number of bytes read at once if the requested elements are close together.
const AHEAD: usize = 1 << 18;
/// Elements at least this many bytes apart are read one by one.
const FAR: usize = 1 << 12;
/// Columns with fewer bytes in a piece are read in the order of the file, longer ones in the order of the
/// result.
const SHORT: usize = 256;
/// The number of columns copied together: their elements are adjacent in the result.
const TOGETHER: usize = 32;
/// The number of bytes of each of these columns in memory.
const RUN: usize = 1 << 14;

/// An array in Fortran order, read in the order of safetensors.
pub type Transposed<S> = MadeAhead<Pieces<S>>;

/// Returns a reader of the array with these dimensions, whose elements of `width` bytes begin at `at`. The
/// array's length in bytes must fit 64 bits.
pub fn transposed(file: File, at: u64, width: usize, dims: &[u64]) -> Transposed<File> {
    MadeAhead::new(Pieces::within(MEMORY, file, at, width, dims))
}

/// Makes the pieces of the result, in its order.
///
/// A piece is a range of one axis, the split axis, with all indices of the axes after it and one index of
/// each axis before it. The split axis is the first one of which two indices fit the memory. A column of a
/// piece has one index of each axis after the split axis. In the file it is a range of elements, with gaps
/// unless the split axis is the first.
pub struct Pieces<S> {
    file: S,
    /// The offset of the array.
    at: u64,
    width: usize,
    axes: Vec<Axis>,
    /// The index of the split axis.
    split: usize,
    /// The largest number of its indices in a piece.
    step: u64,
    /// The first index of the next piece on each axis up to the split axis; `None` after the last piece.
    next: Option<Vec<u64>>,
}

/// An axis, and the distance between its neighbours in elements.
#[derive(Clone, Copy)]
struct Axis {
    len: u64,
    in_file: u64,
    in_result: u64,
}

impl Axis {
    /// The single axis of an array without axes.
    const NONE: Self = Self { len: 1, in_file: 1, in_result: 1 };
}

fn axes(dims: &[u64]) -> Vec<Axis> {
    let (mut axes, mut in_file, mut in_result) = (Vec::new(), 1, 1);
    for &len in dims {
        axes.push(Axis { len, in_file, in_result: 1 });
        in_file *= len;
    }
    for axis in axes.iter_mut().rev() {
        axis.in_result = in_result;
        in_result *= axis.len;
    }
    axes
}

impl<S: Sync> Pieces<S>
where
    for<'s> &'s S: ReadAt<Error = io::Error>,
{
    fn within(memory: usize, file: S, at: u64, width: usize, dims: &[u64]) -> Self {
        // Without elements there are no pieces, and the product of the other axes may not fit 64 bits.
        let is_empty = dims.contains(&0);
        let axes = if is_empty { Vec::new() } else { axes(dims) };
        let room = (memory / width).max(1) as u64;
        let fits = |axis: &Axis| axis.in_result <= room / 2 || (axis.len == 1 && axis.in_result <= room);
        let split = axes.iter().position(fits).unwrap_or(axes.len().saturating_sub(1));
        let step = axes.get(split).map_or(1, |axis| (room / axis.in_result).max(1));
        let next = (!is_empty).then(|| vec![0; (split + 1).min(axes.len())]);
        Self { file, at, width, axes, split, step, next }
    }

    /// Makes the piece whose first element in the file is `start`. Each thread makes a part of the range.
    fn make_from(&self, start: u64, split: Axis, piece: &mut [u8]) -> io::Result<()> {
        let rest = self.axes.get(self.split + 1..).unwrap_or_default();
        let cores = available_parallelism().map_or(1, NonZero::get);
        let threads = cores.min(THREADS).min(piece.len() / WORTH).max(1);
        let indices = split.len.div_ceil(threads as u64);
        let parts = piece.chunks_mut(bytes(indices * split.in_result, self.width)).zip(0..);
        share(parts, threads, |(part, number)| {
            let split = Axis { len: indices.min(split.len - number * indices), ..split };
            let start = start + number * indices * split.in_file;
            self.part(start, split, rest, part).make_of(self.width)
        })
    }

    fn part<'p>(&'p self, start: u64, split: Axis, rest: &'p [Axis], part: &'p mut [u8]) -> Part<'p, &'p S> {
        let span = |axis: &Axis| (axis.len - 1) * axis.in_file;
        let end = start + rest.iter().chain([&split]).map(span).sum::<u64>() + 1;
        let (file, at, end) = (&self.file, self.at, end * self.width as u64);
        Part { source: Ahead { file, at, end, start: 0, bytes: Vec::new() }, start, split, rest, part }
    }
}

impl<S: Send + Sync + 'static> Make for Pieces<S>
where
    for<'s> &'s S: ReadAt<Error = io::Error>,
{
    fn make(&mut self, piece: &mut Vec<u8>) -> io::Result<()> {
        let first = self.next.take().unwrap_or_default();
        let start = first.iter().zip(&self.axes).map(|(index, axis)| index * axis.in_file).sum();
        let split = self.axes.get(self.split).copied().unwrap_or(Axis::NONE);
        let count = self.step.min(split.len - first.last().copied().unwrap_or(0));
        // Old contents of the buffer are overwritten.
        piece.resize(bytes(count * split.in_result, self.width), 0);
        self.make_from(start, Axis { len: count, ..split }, piece)?;
        self.next = after(first, count, self.axes.iter().map(|axis| axis.len));
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.next.is_none()
    }
}

/// A part of a piece under construction.
struct Part<'p, S> {
    source: Ahead<S>,
    /// The index of its first element in the file.
    start: u64,
    /// The split axis, limited to the part.
    split: Axis,
    /// The axes after it.
    rest: &'p [Axis],
    part: &'p mut [u8],
}

impl<S: ReadAt<Error = io::Error>> Part<'_, S> {
    fn make_of(mut self, width: usize) -> io::Result<()> {
        match width {
            1 => self.make::<1>(),
            2 => self.make::<2>(),
            4 => self.make::<4>(),
            _ => self.make::<8>(),
        }
    }

    fn make<const WIDTH: usize>(&mut self) -> io::Result<()> {
        let is_long = self.split.in_file == 1 && bytes(self.split.len, WIDTH) >= SHORT;
        match self.rest {
            [.., _] if is_long => self.by_result::<WIDTH>(),
            _ => self.by_file::<WIDTH>(),
        }
    }

    /// Copies the columns in the order of the file: in blocks of neighbours, or long columns in parts.
    fn by_file<const WIDTH: usize>(&mut self) -> io::Result<()> {
        let (next, rest) =
            self.rest.split_first().map_or((Axis::NONE, &[][..]), |(next, rest)| (*next, rest));
        let (elements, columns) = self.block_of::<WIDTH>(next);
        let mut columns_at = Column::new(rest.iter().copied());
        while let Some((from, to)) = columns_at.next() {
            for column in (0..next.len).step_by(columns) {
                for first in (0..self.split.len).step_by(elements) {
                    let split = Steps::of::<WIDTH>(self.split, elements, first);
                    let next = Steps::of::<WIDTH>(next, columns, column);
                    let at = (self.start + from) * WIDTH as u64 + split.from + next.from;
                    self.copy_block::<WIDTH>(at, bytes(to, WIDTH), split, next)?;
                }
            }
        }
        Ok(())
    }

    fn copy_block<const WIDTH: usize>(
        &mut self,
        at: u64,
        to: usize,
        split: Steps,
        next: Steps,
    ) -> io::Result<()> {
        let span = (split.count - 1) * split.gap + (next.count - 1) * next.gap + WIDTH;
        let from = self.source.get(at, span, if next.count > 1 { AHEAD } else { 0 })?;
        let to = &mut self.part[to + split.to + next.to..];
        let (outer, inner) = if split.count < next.count { (split, next) } else { (next, split) };
        for index in 0..outer.count {
            inner.copy::<WIDTH>(&from[index * outer.gap..], &mut to[index * outer.to_gap..]);
        }
        Ok(())
    }

    /// Returns how many elements of a column, and how many neighbouring columns, are read at once.
    fn block_of<const WIDTH: usize>(&self, next: Axis) -> (usize, usize) {
        let Axis { len, in_file, .. } = self.split;
        let (gap, next_gap) = (bytes(in_file, WIDTH), bytes(next.in_file, WIDTH));
        let column = bytes((len - 1).saturating_mul(in_file), WIDTH).saturating_add(WIDTH);
        // The bytes between two columns are read, too.
        let is_near = next_gap <= FAR.max(column.saturating_mul(2));
        match gap < FAR {
            true if is_near && column <= AHEAD => (to_usize(len), (AHEAD / next_gap).max(1)),
            true => (AHEAD / gap, 1),
            false => (1, 1),
        }
    }

    /// Copies columns in the order of the result, some neighbours at once. Each is a range of elements in
    /// the file.
    fn by_result<const WIDTH: usize>(&mut self) -> io::Result<()> {
        let (column_len, row_len) = (bytes(self.split.len, WIDTH), bytes(self.split.in_result, WIDTH));
        let mut columns = Column::new(self.rest.iter().rev().copied());
        // Padding: the same index of all columns must not map to the same line of the processor's cache.
        let apart = RUN.min(column_len) + 64;
        let mut runs = vec![0; TOGETHER * apart];
        for to in (0..row_len).step_by(TOGETHER * WIDTH) {
            let together = TOGETHER.min((row_len - to) / WIDTH);
            let froms: Vec<u64> =
                (0..together).filter_map(|_| columns.next()).map(|(from, _)| from).collect();
            for first in (0..column_len).step_by(RUN) {
                let len = RUN.min(column_len - first);
                for (from, run) in froms.iter().zip(runs.chunks_mut(apart)) {
                    let at = (self.start + from) * WIDTH as u64 + first as u64;
                    self.source.read(at, &mut run[..len])?;
                }
                let rows = self.part[first / WIDTH * row_len..].chunks_mut(row_len);
                for (at, row) in (0..len).step_by(WIDTH).zip(rows) {
                    let elements = row[to..to + together * WIDTH].chunks_exact_mut(WIDTH);
                    for (element, run) in elements.zip(runs.chunks(apart)) {
                        element.copy_from_slice(&run[at..at + WIDTH]);
                    }
                }
            }
        }
        Ok(())
    }
}

/// A range of indices of an axis, in bytes.
#[derive(Clone, Copy)]
struct Steps {
    count: usize,
    gap: usize,
    to_gap: usize,
    /// The offset of the first index in the file.
    from: u64,
    /// Its offset in the result.
    to: usize,
}

impl Steps {
    /// Returns at most `most` indices from `first` on. A gap that does not fit `usize` is never used,
    /// because it has only one index.
    fn of<const WIDTH: usize>(axis: Axis, most: usize, first: u64) -> Self {
        Self {
            count: most.min(to_usize(axis.len - first)),
            gap: bytes(axis.in_file, WIDTH),
            to_gap: bytes(axis.in_result, WIDTH),
            from: first * axis.in_file * WIDTH as u64,
            to: bytes(first * axis.in_result, WIDTH),
        }
    }

    /// Copies the elements, with their gaps in the file and in the result.
    fn copy<const WIDTH: usize>(self, from: &[u8], to: &mut [u8]) {
        if self.to_gap > WIDTH {
            for (element, place) in from.chunks(self.gap).zip(to.chunks_mut(self.to_gap)).take(self.count) {
                place[..WIDTH].copy_from_slice(&element[..WIDTH]);
            }
            return;
        }
        // Neighbours in the result: arrays of a known length are copied twice as fast.
        let mut places = to.as_chunks_mut::<WIDTH>().0.iter_mut().take(self.count);
        let mut elements = from.chunks_exact(self.gap);
        for (element, place) in elements.by_ref().zip(places.by_ref()) {
            if let Some(element) = element.first_chunk::<WIDTH>() {
                *place = *element;
            }
        }
        // The last one has no gap after it.
        if let (Some(element), Some(place)) = (elements.remainder().first_chunk::<WIDTH>(), places.next()) {
            *place = *element;
        }
    }
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Returns the length of elements in bytes, at most `usize::MAX`; lengths in memory always fit.
fn bytes(elements: u64, width: usize) -> usize {
    to_usize(elements).saturating_mul(width)
}

/// Iterates over all indices of some axes, the first axis fastest.
struct Column {
    axes: Vec<(Axis, u64)>,
    from: u64,
    to: u64,
    is_over: bool,
}

impl Column {
    fn new(axes: impl Iterator<Item = Axis>) -> Self {
        Self { axes: axes.map(|axis| (axis, 0)).collect(), from: 0, to: 0, is_over: false }
    }

    /// Returns the next column's first element in the file and in the result.
    fn next(&mut self) -> Option<(u64, u64)> {
        let here = (!self.is_over).then_some((self.from, self.to));
        for (axis, index) in &mut self.axes {
            *index += 1;
            self.from += axis.in_file;
            self.to += axis.in_result;
            if *index < axis.len {
                return here;
            }
            self.from -= axis.len * axis.in_file;
            self.to -= axis.len * axis.in_result;
            *index = 0;
        }
        self.is_over = true;
        here
    }
}

/// A file with a buffer of what was read last.
struct Ahead<S> {
    file: S,
    /// The offset of the array; all other offsets are relative to it.
    at: u64,
    /// The end of what may be read.
    end: u64,
    /// The offset of `bytes`.
    start: u64,
    bytes: Vec<u8>,
}

impl<S: ReadAt<Error = io::Error>> Ahead<S> {
    /// Returns `len` bytes. If they are not in the buffer, reads `ahead` bytes, or `len` if that is more.
    fn get(&mut self, at: u64, len: usize, ahead: usize) -> io::Result<&[u8]> {
        if self.find(at, len).is_none() {
            self.bytes.resize(len.max(ahead.min(to_usize(self.end - at))), 0);
            let filled = fill(&mut self.file, self.at + at, &mut self.bytes, len)?;
            self.bytes.truncate(filled);
            self.start = at;
        }
        let from = self.find(at, len).unwrap_or(0);
        Ok(&self.bytes[from..from + len])
    }

    fn find(&self, at: u64, len: usize) -> Option<usize> {
        let from = usize::try_from(at.checked_sub(self.start)?).ok()?;
        (from.checked_add(len)? <= self.bytes.len()).then_some(from)
    }

    /// Fills the caller's buffer, bypassing our own.
    fn read(&mut self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let len = buffer.len();
        fill(&mut self.file, self.at + at, buffer, len).map(drop)
    }
}

/// Reads at least `least` bytes into the front of the buffer, and returns how many.
fn fill(
    file: &mut impl ReadAt<Error = io::Error>,
    at: u64,
    buffer: &mut [u8],
    least: usize,
) -> io::Result<usize> {
    let mut filled = 0;
    while filled < least {
        match file.read_at(at + filled as u64, &mut buffer[filled..]) {
            Ok(0) => return Err(unsound("the array ends before its last element")),
            Ok(len) => filled += len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::{MEMORY, MadeAhead, Pieces, Transposed};
    use embedded_safetensors::{ReadAt, io::FileLen};
    use std::io::{self, Read, Write};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Transposes an array whose elements are their own indices in the result.
    fn transposed(dims: &[u64], width: usize, memory: usize) -> Vec<u8> {
        let elements: u64 = dims.iter().product();
        let mut bytes = vec![0xAA; 5];
        for index_in_file in 0..elements {
            let (mut rest, mut index, mut stride) = (index_in_file, 0, elements);
            for dim in dims {
                stride /= dim;
                index += rest % dim * stride;
                rest /= dim;
            }
            bytes.extend(&index.to_le_bytes()[..width]);
        }
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&bytes).expect("written");
        let mut result = Vec::new();
        let pieces = Pieces::within(memory, file, 5, width, dims);
        MadeAhead::new(pieces).read_to_end(&mut result).expect("read");
        result
    }

    fn counted(elements: u64, width: usize) -> Vec<u8> {
        (0..elements).flat_map(|index| index.to_le_bytes()[..width].to_vec()).collect()
    }

    #[test]
    fn last_axis_becomes_the_fastest() {
        for dims in [&[][..], &[5], &[2, 3], &[3, 1, 4], &[4, 3, 2, 5], &[1, 7], &[7, 1], &[600, 700]] {
            let expected = counted(dims.iter().product(), 4);
            for memory in [MEMORY, 1 << 20, 100] {
                assert!(transposed(dims, 4, memory) == expected, "{dims:?} in {memory}");
            }
        }
        for dims in [&[0][..], &[0, 3], &[3, 0], &[2, 0, 5], &[0, 1 << 40, 1 << 40]] {
            let file = tempfile::tempfile().expect("a file");
            let mut none = Vec::new();
            super::transposed(file, 0, 4, dims).read_to_end(&mut none).expect("read");
            assert!(none.is_empty());
        }
    }

    /// A row does not fit the memory, and its length is not a multiple of a piece.
    #[test]
    fn long_rows_are_read_in_parts() {
        assert!(transposed(&[2, 3, 250_000], 8, 4 << 20) == counted(1_500_000, 8));
    }

    /// Covers blocks of several columns, parts of long columns, elements far apart, and the parts of
    /// threads.
    #[test]
    fn all_shapes_are_transposed() {
        for dims in [
            &[3, 40_000][..],
            &[40_000, 3],
            &[9000, 34],
            &[300, 33],
            &[70, 500, 3],
            &[3, 5, 7, 11, 2],
            &[6000, 2, 5],
            &[2, 9000, 4],
        ] {
            for width in [1, 2, 4, 8] {
                let elements: u64 = dims.iter().product();
                let expected = counted(elements, width);
                for memory in [MEMORY, 100_000, 3000, 8] {
                    if elements < 200 * memory as u64 {
                        assert!(
                            transposed(dims, width, memory) == expected,
                            "{dims:?} of {width} in {memory}"
                        );
                    }
                }
            }
        }
    }

    /// No byte is read again if a piece has all rows, or long parts of the columns.
    #[test]
    fn bytes_are_read_once_if_the_memory_allows() {
        struct Counted(Arc<AtomicUsize>);
        impl ReadAt for &Counted {
            type Error = io::Error;

            fn read_at(&mut self, _: u64, buffer: &mut [u8]) -> io::Result<usize> {
                self.0.fetch_add(buffer.len(), Ordering::Relaxed);
                Ok(buffer.len())
            }

            fn file_len(&mut self) -> io::Result<FileLen> {
                Ok(FileLen::Unknown)
            }
        }
        for rows in [500_000, 2_000_000] {
            let read = Arc::new(AtomicUsize::new(0));
            let pieces = Pieces::within(MEMORY, Counted(read.clone()), 0, 4, &[rows, 10]);
            let mut array: Transposed<Counted> = MadeAhead::new(pieces);
            let bytes = io::copy(&mut array, &mut io::sink()).expect("read");
            assert_eq!((bytes, read.load(Ordering::Relaxed) as u64), (40 * rows, 40 * rows));
        }
    }
}
